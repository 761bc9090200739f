# SPDX-License-Identifier: MIT
# What the tests share.
. ./lib/slug.sh

failed=0

# equal GOT WANT
equal() {
	if [ "$1" != "$2" ]; then
		echo "FAIL: $name: got '$1', want '$2'"
		failed=1
	fi
}

finish() { exit "$failed"; }
