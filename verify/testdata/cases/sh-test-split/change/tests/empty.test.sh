name=empty
. ./tests/lib.sh
equal "$(slug '')" ''
finish
