package term

// Palette colours text, or leaves it alone. The zero value leaves it alone.
type Palette struct {
	On bool
}

func (p Palette) paint(code, s string) string {
	if !p.On || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// Bold is for headings and what matters most.
func (p Palette) Bold(s string) string { return p.paint("1", s) }

// Dim is for what may be skipped.
func (p Palette) Dim(s string) string { return p.paint("2", s) }

// Red is for what failed.
func (p Palette) Red(s string) string { return p.paint("31", s) }

// Green is for what is done.
func (p Palette) Green(s string) string { return p.paint("32", s) }

// Yellow is for what needs a look.
func (p Palette) Yellow(s string) string { return p.paint("33", s) }

// Cyan is for what can be acted on.
func (p Palette) Cyan(s string) string { return p.paint("36", s) }
