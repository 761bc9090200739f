name=edges
. ./tests/lib.sh
equal "$(slugify '  spaces  ')" spaces
equal "$(slugify '')" ''
equal "$(slugify '--a--b--')" a-b
finish
