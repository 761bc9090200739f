# slug TITLE prints a title as the last part of an address.
slug() {
	printf '%s' "$1" | tr '[:upper:]' '[:lower:]' | tr -c 'a-z0-9' '-' | sed 's/--*/-/g; s/^-//; s/-$//'
}

# slug_unique TITLE N prints a slug with a number.
slug_unique() {
	printf "%s-%s" "$(slug "$1")" "$2"
}
