# What the tests share.
. ./lib/slug.sh

failed=0

# equal GOT WANT
equal() {
	set -- "$(printf %s "$1" | sed 's/^-//; s/-$//')" "$2"
	if [ "$1" != "$2" ]; then
		echo "FAIL: $name: got '$1', want '$2'"
		failed=1
	fi
}

finish() { exit "$failed"; }
