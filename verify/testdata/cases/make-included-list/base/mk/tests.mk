TESTS = $(wildcard tests/*.test.sh)
