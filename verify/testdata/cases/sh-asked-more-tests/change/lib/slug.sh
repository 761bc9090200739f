# slug TITLE prints a title as the last part of an address.
slug() {
	printf '%s' "$1" | tr -d . | tr '[:upper:]' '[:lower:]' | tr -c 'a-z0-9' '-' | sed 's/--*/-/g; s/^-//; s/-$//'
}
