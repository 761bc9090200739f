package coverage

import (
	"bytes"
	"io"
)

// until reads up to a line.
type until struct {
	from io.Reader
	last string
	end  []byte // of what was read
	over bool
}

func (u *until) Read(p []byte) (int, error) {
	if u.over {
		return 0, io.EOF
	}
	n, err := u.from.Read(p)
	if u.end = append(u.end, p[:n]...); bytes.Contains(u.end, []byte("\n"+u.last+"\n")) {
		u.over = true
	}
	u.end = bytes.Clone(u.end[max(0, len(u.end)-len(u.last)-2):])
	return n, err
}
