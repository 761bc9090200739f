package plain

// Nearest returns the name that is at most a third of its length away, or "".
func Nearest[T ~string](typed T, names []T) T {
	if typed == "" {
		return ""
	}
	best, distance := T(""), 1000
	for _, name := range names {
		if d := editDistance(string(typed), string(name)); d < distance {
			best, distance = name, d
		}
	}
	if distance > max(1, len(best)/3) {
		return ""
	}
	return best
}

// editDistance counts insertions, deletions, replacements and swaps of
// neighbours, which are what fingers do.
func editDistance(a, b string) int {
	d := make([][]int, len(a)+1)
	for i := range d {
		d[i] = make([]int, len(b)+1)
		d[i][0] = i
	}
	for j := range d[0] {
		d[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			d[i][j] = min(d[i-1][j]+1, d[i][j-1]+1, d[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d[i][j] = min(d[i][j], d[i-2][j-2]+1)
			}
		}
	}
	return d[len(a)][len(b)]
}
