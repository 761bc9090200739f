package journal

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"time"

	"ralph/internal/plain"
)

const (
	bytesPerToken = 4
	maxTitle      = 200 // bytes of a title in a rendering
	maxReason     = 400
	maxFiles      = 400 // bytes of names of files
)

// Text renders the selection within its budget.
func (s Selection) Text() string { return s.text }

const matchesHeading = "Earlier iterations that speak of the same things:\n\n"

func leftOut(n int) string { return fmt.Sprintf("[left out: %d older; see `ralph journal list`]\n", n) }

// fit renders what fits into so many bytes and drops the rest, from the oldest on; the run's
// own entries are shown oldest first, because providers cache prompts by their beginning.
// Notes are cut, so that one talkative iteration does not push out all others.
func (s *Selection) fit(limit, most int) {
	all, notes := len(s.Recent)+len(s.Matches), limit/4
	limit -= len(leftOut(all))
	var blocks []string
	size := 0
	keep := func(list []Entry, heading string) []Entry {
		for i, e := range list {
			block := render(e, notes)
			if i == 0 {
				block = heading + block
			}
			if size+len(block) > limit {
				limit = 0 // nothing older either
				return list[:i:i]
			}
			blocks, size = append(blocks, block), size+len(block)
		}
		return list
	}
	chosen := len(s.Recent)
	if s.Recent = keep(s.Recent, ""); len(s.Recent) < chosen || chosen == most {
		n := settled(s.Recent)
		s.Recent, blocks = s.Recent[:n:n], blocks[:n]
	}
	slices.Reverse(blocks)
	s.Matches = keep(s.Matches, matchesHeading)
	if s.LeftOut = all - len(s.Recent) - len(s.Matches); s.LeftOut > 0 && size > 0 {
		blocks = append(blocks, leftOut(s.LeftOut))
	}
	s.text = strings.TrimSpace(strings.Join(blocks, ""))
}

// settled is how many of the newest entries are shown once older ones must go: at least half.
// The first is the one whose number has the largest power of two, so it is the same for many iterations.
func settled(newestFirst []Entry) (n int) {
	best := -1
	for i := len(newestFirst); i > 0 && i >= len(newestFirst)/2; i-- {
		if zeros := bits.TrailingZeros(uint(newestFirst[i-1].Iteration)); zeros > best {
			n, best = i, zeros
		}
	}
	return n
}

// render shows an entry to an agent: a line of ours says where it comes from and what it
// did, and its texts follow, indented, so that none can pose as another entry. It is data; prompt quotes it and makes sigils inert.
func render(e Entry, notes int) string {
	var b strings.Builder
	b.Grow(min(len(e.Notes), notes) + 2*maxTitle)
	fmt.Fprintf(&b, "Iteration %d of run %s, %s: task %s %q: %s\n", e.Iteration, oneLine(e.Run, maxTitle),
		e.At.UTC().Format("2006-01-02 15:04"), oneLine(e.Task, maxTitle), oneLine(e.Title, maxTitle), e.Outcome)
	facts := []string{"took " + e.Duration.Round(time.Second).String()}
	if model := cmp.Or(e.ModelEffective, e.Model); model != "" {
		facts = append(facts, "model "+oneLine(model, maxTitle))
	}
	if len(e.Files) > 0 {
		facts = append(facts, "files "+names(e.Files))
	}
	b.WriteString("  " + strings.Join(facts, "; ") + "\n")
	if e.Reason != "" {
		b.WriteString("  reason: " + oneLine(e.Reason, maxReason) + "\n")
	}
	text, total := strings.TrimSpace(e.Notes), len(e.Notes)
	if len(text) > notes {
		text = plain.Head(text, notes) + fmt.Sprintf("\n[cut: %d bytes; see `ralph journal show %d`]", total, e.N)
	}
	if text != "" {
		b.WriteString("  notes:\n")
		for line := range strings.FieldsFuncSeq(text, plain.IsLineEnd) {
			b.WriteString("    ")
			b.WriteString(line)
			b.WriteByte('\n')
		}
	}
	b.WriteByte('\n')
	return b.String()
}

// names lists files within maxFiles bytes.
func names(files []string) string {
	var b strings.Builder
	for i, file := range files {
		file = oneLine(file, maxTitle)
		if b.Len()+len(file) > maxFiles {
			fmt.Fprintf(&b, " and %d more", len(files)-i)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(file)
	}
	return b.String()
}

// oneLine joins lines, collapses blanks and cuts.
func oneLine(text string, limit int) string {
	if len(text) <= limit && isPlain(text) {
		return text
	}
	short := strings.Join(strings.Fields(plain.Head(text, 4*limit)), " ")
	short = strings.Join(strings.FieldsFunc(short, plain.IsLineEnd), " ")
	if len(short) > limit || len(text) > 4*limit {
		return plain.Head(short, limit-len("…")) + "…"
	}
	return short
}

// isPlain says that a text is printable ASCII without blanks at its ends or in a
// row: a line already, as nearly all are.
func isPlain(text string) bool {
	blank := true
	for i := range len(text) {
		c := text[i]
		if c < ' ' || c > '~' || c == ' ' && blank {
			return false
		}
		blank = c == ' '
	}
	return !blank
}
