run_one() {
	sh "$1" || exit 1
}
