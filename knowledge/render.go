package knowledge

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"ralph/internal/human"
	"ralph/internal/plain"
	"ralph/internal/seq"
)

const bytesPerToken = 4

// Told is what an agent gets to read.
type Told struct {
	Feature, Task string
	Entries       []string // their sums
}

// Brief tells an agent what has to do with its task, as Render does. What is tagged with
// the feature comes apart, in at most half of the budget, and is the same for all its tasks.
func (q Query) Brief(entries []Entry, tokens int) Told {
	matches, tag := q.Match(entries), key(q.Feature)
	shared := slices.DeleteFunc(slices.Clone(matches), func(m Match) bool { return tag == "" || !slices.Contains(m.tags, tag) })
	slices.SortFunc(shared, func(a, b Match) int { return cmp.Or(cmp.Compare(a.late, b.late), byTitle(&a.Entry, &b.Entry)) })
	half := tokens / 2 * bytesPerToken
	feature, n := fill(shared, half, half)
	rest := slices.DeleteFunc(matches, func(m Match) bool {
		return slices.ContainsFunc(shared[:n], func(told Match) bool { return told.File == m.File })
	})
	told := Render(rest, tokens-len(feature)/bytesPerToken)
	told.Feature, told.Entries = strings.TrimSpace(feature), append(sums(shared[:n]), told.Entries...)
	return told
}

// Render tells matches to an agent within a budget of tokens, at four bytes each. Each begins with a line of ours that says where it comes
// from; what was written is indented below, so that no text can pose as another
// entry. The best stay. It is data: prompt quotes it and makes sigils inert.
func Render(matches []Match, tokens int) Told {
	budget := tokens * bytesPerToken
	text, n := fill(matches, budget-len(leftOut(len(matches))), budget/2)
	if 0 < n && n < len(matches) {
		text += leftOut(len(matches) - n)
	}
	return Told{Task: strings.TrimSpace(text), Entries: sums(matches[:n])}
}

func sums(matches []Match) []string {
	return seq.Map(matches, func(m Match) string { return m.Sum() })
}

// fill renders the first n matches, each in at most so many bytes.
func fill(matches []Match, room, each int) (text string, n int) {
	var b strings.Builder
	for _, m := range matches {
		block := render(m.Entry, min(room, each))
		if block == "" {
			break
		}
		room -= len(block)
		b.WriteString(block)
		n++
	}
	return b.String(), n
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
	body := plain.Indent(e.Body)
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

func provenance(e Entry) []string {
	day := ""
	if !e.CreatedAt.IsZero() {
		day = e.CreatedAt.UTC().Format(time.DateOnly)
	}
	return human.Parts(string(e.Kind), human.Lead("tags ", strings.Join(e.Tags, ", ")), human.Lead("feature ", e.Feature),
		human.Lead("from task ", e.Task), human.Lead("run ", e.Run), day, "file "+path(e.File))
}
