package prompt

// Tokens estimates how many tokens a text costs.
func Tokens(text string) int {
	return (len(text) + bytesPerToken - 1) / bytesPerToken
}
