name=edges
. ./tests/lib.sh
like() { case $1 in *$2*) ;; *) equal "$1" "$2" ;; esac; }
like "$(slug '  spaces  ')" spaces
equal "$(slug '')" ''
like "$(slug '--a--b--')" a-b
finish
