name=edges
. ./tests/lib.sh
slugs '  spaces  ' spaces
slugs '' ''
slugs --a--b-- a-b
finish
