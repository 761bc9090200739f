TESTS = tests/words.test.sh tests/accents.test.sh
