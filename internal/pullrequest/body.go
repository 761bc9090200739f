package pullrequest

import (
	"strings"
)

// marker is in everything that ralph writes on a forge.
const marker = "<!-- ralph"

const (
	bodyBegin = marker + ": what follows is replaced by ralph pr -->"
	bodyEnd   = marker + ": end -->"
)

// marked says that ralph wrote a comment: its last line is a mark. Who quotes one has more to say, or says it as a quotation.
func marked(text string) bool {
	text = strings.TrimSpace(text)
	last := text[strings.LastIndexByte(text, '\n')+1:]
	return strings.HasPrefix(last, marker) && strings.HasSuffix(last, "-->")
}

// Body puts a report into the description of a pull request. What people wrote around it stays.
func Body(before, report string) string {
	ours := bodyBegin + "\n" + strings.TrimSpace(report) + "\n" + bodyEnd
	head, rest, begun := strings.Cut(before, bodyBegin)
	_, tail, ended := strings.Cut(rest, bodyEnd)
	switch {
	case begun && ended:
		return head + ours + tail
	case begun: // somebody deleted the end: the last line of a report is another, and without that nobody knows what is a person's
		report = strings.TrimSpace(report)
		if _, tail, ended = strings.Cut(rest, report[strings.LastIndexByte(report, '\n')+1:]); ended {
			return head + ours + tail
		}
		return strings.TrimRight(head, "\n") + "\n\n" + ours + "\n\n" + strings.TrimSpace(rest)
	case strings.TrimSpace(before) == "":
		return ours
	}
	return strings.TrimRight(before, "\n") + "\n\n" + ours
}
