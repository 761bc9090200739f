run_one() {
	sh "$1" || return 0
}
