name=words
. ./tests/lib.sh
equal "$(slug 'Hello World')" hello-world
equal "$(slug 'Go 1.26')" go-1-26
equal "$(slug 'a/b')" a-b
finish
