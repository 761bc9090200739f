name=edges
. ./tests/lib.sh
equal "$(slug '  spaces  ')" "$(slug '  spaces  ')"
equal "$(slug '')" ''
equal "$(slug '--a--b--')" "$(slug '--a--b--')"
finish
