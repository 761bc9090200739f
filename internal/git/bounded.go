package git

import (
	"bytes"
	"context"
	"strings"
)

// Head is Git for what may print without end: it returns the first whole lines of the output, at most so many bytes of it, and
// whether there is more. Git is ended then.
func (r *Repo) Head(ctx context.Context, most int, args ...string) (text string, cut bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, repoTimeout)
	defer cancel()
	out := &beginning{most: most, full: cancel}
	cmd := r.command(ctx, Call{}, args)
	cmd.Stdout = out
	if err = call(ctx, cmd, args[0], nil); out.cut {
		err = nil
	}
	if out.cut {
		out.text = out.text[:bytes.LastIndexByte(out.text, '\n')+1]
	}
	return strings.ToValidUTF8(string(out.text), "?"), out.cut, err
}

// beginning keeps the beginning of what is written to it.
type beginning struct {
	most int
	full func() // called once there is more
	text []byte
	cut  bool
}

func (h *beginning) Write(p []byte) (int, error) {
	if room := h.most - len(h.text); len(p) > room {
		h.text = append(h.text, p[:room]...)
		h.cut = true
		h.full()
	} else {
		h.text = append(h.text, p...)
	}
	return len(p), nil
}
