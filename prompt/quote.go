package prompt

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"ralph/internal/human"
	"ralph/internal/plain"
)

// quote is one quotation: foreign text, its source, and after fit what of it is
// shown.
type quote struct {
	From string

	text    string
	parts   []string      // of the text, if a cut is to spare something of each
	weight  int           // percent of the space for quotations
	changed []changedPart // of the text, if it is what changed in files
	end     bool          // a cut spares the end
	kept    int           // bytes of the text that are shown
	shown   string
}

// String returns the quotation as Markdown.
func (q *quote) String() string { return q.shown }

// Under returns the quotation below a heading and a line that says from where, or nothing.
func (q *quote) Under(heading, intro string) string {
	if q == nil {
		return ""
	}
	return "\n\n## " + heading + "\n\n" + strings.Replace(intro, "%s", q.From, 1) + "\n\n" + q.shown
}

// keepEnd makes a cut spare the end instead of the beginning.
func (q *quote) keepEnd() *quote {
	if q != nil {
		q.end = true
	}
	return q
}

// named is what a task names of the text and a cut took away.
func (q *quote) named(t Task) Document {
	if q == nil || q.kept == len(q.text) {
		return Document{}
	}
	return Document{namedSections(q.text, t.Title+"\n"+t.Description, q.kept), q.From}
}

// size is what the whole quotation takes, its marks included.
func (q *quote) size() int {
	return len(q.text) + len(mark)*(1+strings.Count(q.text, "\n"))
}

const mark = "> "

// fit chooses what is shown in at most limit bytes.
func (q *quote) fit(limit int) {
	if q.size() <= limit {
		q.kept, q.shown = len(q.text), quoted(q.text)
		return
	}
	if q.changed != nil {
		q.kept, q.shown = 0, q.byFile(limit)
		return
	}
	total := utf8.RuneCountInString(q.text)
	limit -= len(q.notice(total, total))
	if q.end {
		kept := lastLines(q.text, limit)
		q.kept, q.shown = len(kept), q.notice(utf8.RuneCountInString(kept), total)+quoted(kept)
		return
	}
	kept := firstLines(q.text, limit)
	if q.parts != nil {
		kept = q.fairly(limit)
	}
	q.kept, q.shown = len(kept), quoted(kept)+q.notice(utf8.RuneCountInString(kept), total)
}

// fairly cuts the longest parts, to the same length.
func (q *quote) fairly(limit int) string {
	var sizes []int
	for _, part := range q.parts {
		sizes = append(sizes, len(quoted(part))+1)
	}
	most := fairShare(sizes, limit)
	var kept []string
	for _, part := range q.parts {
		if part = firstLines(part, most-1); part != "" { // and a line end
			kept = append(kept, part)
		}
	}
	return strings.Join(kept, "\n")
}

// notice is ours, so it stands outside the quotation.
func (q *quote) notice(shown, total int) string {
	part, all := human.Thousands(int64(shown)), human.Thousands(int64(total))
	if q.end {
		return fmt.Sprintf("[cut: the last %s of %s characters shown; the rest is in %s]\n\n", part, all, q.From)
	}
	return fmt.Sprintf("\n\n[cut: %s of %s characters shown; the rest is in %s]", part, all, q.From)
}

func quoted(text string) string {
	if text == "" {
		return ""
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(mark+line, " ")
	}
	return strings.Join(lines, "\n")
}

// firstLines returns whole lines from the beginning that fit once quoted; when
// they would leave most of the limit unused, the next line is cut between runes.
func firstLines(text string, limit int) string {
	used, end := 0, 0
	for end < len(text) {
		n := strings.IndexByte(text[end:], '\n') + 1
		if n == 0 {
			n = len(text) - end
		}
		if used+len(mark)+n > limit {
			if used < limit/2 {
				end += len(plain.Head(text[end:], limit-used-len(mark)))
			}
			break
		}
		used += len(mark) + n
		end += n
	}
	return strings.TrimRight(text[:end], "\n")
}

// lastLines is firstLines from the end.
func lastLines(text string, limit int) string {
	used, start := 0, len(text)
	for end := len(text); end >= 0; end = start - 1 {
		line := text[strings.LastIndexByte(text[:end], '\n')+1 : end]
		if used+len(mark)+len(line)+1 > limit {
			if used < limit/2 {
				start = end - len(plain.Tail(line, limit-used-len(mark)-1))
			}
			break
		}
		used += len(mark) + len(line) + 1
		start = end - len(line)
	}
	return strings.Trim(text[start:], "\n")
}
