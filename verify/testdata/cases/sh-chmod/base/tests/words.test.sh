name=words
. ./tests/lib.sh
equal "$(slug 'Hello World')" hello-world
finish
