name=unique
. ./tests/lib.sh
equal "$(slug_unique 'A b' 2)" a-b-2
finish
