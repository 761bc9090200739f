package plain

import "strings"

// Fence follows Markdown line by line and knows whether a line is in a fenced code block. The
// zero value is outside of one.
type Fence struct {
	Language string // of the block, in lower case
	mark     string // that began it
}

// Open says that the last line was in a block, or began one.
func (f *Fence) Open() bool { return f.mark != "" }

// Next takes the next line, and says whether it begins or ends a block.
func (f *Fence) Next(line string) bool {
	line = strings.TrimLeft(line, " ")
	for _, sign := range []string{"`", "~"} {
		info := strings.TrimLeft(line, sign)
		mark, words := line[:len(line)-len(info)], strings.Fields(strings.ToLower(info))
		switch {
		case len(mark) < 3:
		case f.Open() && len(words) == 0 && strings.HasPrefix(mark, f.mark):
			*f = Fence{}
			return true
		case !f.Open() && (sign == "~" || !strings.Contains(info, sign)): // else it is a code span
			*f = Fence{mark: mark}
			if len(words) > 0 {
				f.Language = words[0]
			}
			return true
		}
	}
	return false
}
