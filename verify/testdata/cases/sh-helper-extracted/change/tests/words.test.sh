name=words
. ./tests/lib.sh
slugs 'Hello World' hello-world
slugs 'Go 1.26' go-1-26
finish
