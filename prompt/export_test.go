package prompt

// Quoted is what a prompt shows of text that holds live sigils.
func Quoted(text string) string { return quoted(clean(text)) }

// Tokens estimates how many tokens a text costs.
func Tokens(text string) int {
	return (len(text) + bytesPerToken - 1) / bytesPerToken
}
