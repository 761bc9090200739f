name=edges
. ./tests/lib.sh
equal "$(slug '  spaces  ')" spaces
equal "$(slug '')" untitled
equal "$(slug '--a--b--')" a-b
finish
