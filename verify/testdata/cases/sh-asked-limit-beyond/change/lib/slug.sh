# slug TITLE prints a title as the last part of an address.
slug() {
	printf '%s' "$1" | sed 's/é/e/g; s/à/a/g; s/ü/u/g' | tr '[:upper:]' '[:lower:]' | tr -c 'a-z0-9' '-' | sed 's/--*/-/g; s/^-//; s/-$//'
}
