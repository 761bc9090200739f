name=words
. ./tests/lib.sh
equal "$(slug 'Hello World')" hello_world
equal "$(slug 'Go 1.26')" go_1_26
finish
