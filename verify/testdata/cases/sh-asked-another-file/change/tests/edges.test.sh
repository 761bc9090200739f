name=edges
. ./tests/lib.sh
equal "$(slug '  spaces  ')" spaces-
equal "$(slug '')" ''
equal "$(slug '--a--b--')" a-b-
finish
