package term

// Roughly comes before an amount: nobody knows all of it, or some is an estimate.
func Roughly(unknown, estimated bool) string {
	words := ""
	if unknown {
		words = "at least "
	}
	if estimated {
		words += "about "
	}
	return words
}
