TESTS = $(wildcard tests/*.test.sh)

.PHONY: test $(TESTS)
test: $(TESTS)

$(TESTS):
	sh $@

