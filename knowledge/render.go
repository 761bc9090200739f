package knowledge

import (
	"fmt"
	"strings"

	"ralph/internal/plain"
)

// DefaultTokens is the budget of a rendering when none is given.
const DefaultTokens = 2000

const bytesPerToken = 4

// Render tells matches to an agent within a budget of tokens, at four bytes each;
// 0 means DefaultTokens. Each begins with a line of ours that says where it comes
// from; what was written is indented below, so that no text can pose as another
// entry. The best stay. It is data: prompt quotes it and makes sigils inert.
func Render(matches []Match, tokens int) string {
	if tokens == 0 {
		tokens = DefaultTokens
	}
	budget := tokens * bytesPerToken
	room := budget - len(leftOut(len(matches)))
	var b strings.Builder
	for i, m := range matches {
		block := render(m.Entry, min(room, budget/2))
		if block == "" {
			if b.Len() > 0 {
				b.WriteString(leftOut(len(matches) - i))
			}
			break
		}
		room -= len(block)
		b.WriteString(block)
	}
	return strings.TrimSpace(b.String())
}

func leftOut(n int) string {
	return fmt.Sprintf("[left out: %d more; see `ralph knowledge list`]\n", n)
}

// leastBody is how much of a body must fit for its entry to be worth the room.
const leastBody = 200

// render returns an entry in at most room bytes, or nothing if that is too little.
func render(e Entry, room int) string {
	head := fmt.Sprintf("%q (%s)\n", e.Title, strings.Join(provenance(e), "; "))
	if e.Kind == Failure {
		head += "  [learned in an attempt that failed: check before relying on it]\n"
	}
	body := indent(e.Body)
	room -= len(head) + len("\n")
	if len(body) <= room {
		return head + body + "\n"
	}
	said := "  [cut; all of it is in " + path(e.File) + "]\n"
	if room -= len(said); room < leastBody {
		return ""
	}
	body = plain.Head(body, room-len("\n"))
	return head + strings.TrimRight(body, " \n") + "\n" + said + "\n"
}

func indent(body string) string {
	var b strings.Builder
	for line := range strings.Lines(body) {
		if line = strings.TrimRight(line, " \t\n"); line != "" {
			b.WriteString("  " + line + "\n")
		}
	}
	return b.String()
}

func provenance(e Entry) []string {
	facts := []string{string(e.Kind)}
	for _, fact := range [][2]string{{"tags", strings.Join(e.Tags, ", ")}, {"feature", e.Feature}, {"from task", e.Task}, {"run", e.Run}} {
		if fact[1] != "" {
			facts = append(facts, fact[0]+" "+fact[1])
		}
	}
	if !e.CreatedAt.IsZero() {
		facts = append(facts, e.CreatedAt.UTC().Format("2006-01-02"))
	}
	return append(facts, "file "+path(e.File))
}
