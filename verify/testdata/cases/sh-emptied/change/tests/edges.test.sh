name=edges
. ./tests/lib.sh
# covered by words.test.sh
finish
