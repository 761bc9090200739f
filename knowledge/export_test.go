package knowledge

// What tests look at directly.
var (
	Slug  = slug
	Parse = parse
)

// Format is how an entry is written.
func Format(e Entry) string { return string(e.format()) }
