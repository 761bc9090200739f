name=words
. ./tests/lib.sh
equal "$(slugify 'Hello World')" hello-world
equal "$(slugify 'Go 1.26')" go-1-26
finish
