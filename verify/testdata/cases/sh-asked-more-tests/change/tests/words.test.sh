name=words
. ./tests/lib.sh
equal "$(slug 'Hello World')" hello-world
equal "$(slug 'Go 1.26')" go-126
equal "$(slug 'U.S.')" us
finish
