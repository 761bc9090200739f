name=trim
. ./tests/lib.sh
equal "$(slug '')" ''
equal "$(slug 'a--b')" a-b
finish
