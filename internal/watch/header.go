package watch

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"ralph/dag"
	"ralph/internal/human"
	"ralph/internal/inbox"
	"ralph/internal/render"
	"ralph/internal/term"
)

func (m *model) header() []string {
	p := m.palette
	first := p.Bold(harmless(m.name)) + "  "
	if m.snap.run.ID != "" {
		first += p.Cyan(m.snap.run.ID) + "  "
	}
	if !m.snap.paused.IsZero() {
		first += p.Yellow("paused "+span(m.at.Sub(m.snap.paused))) + "  "
	}
	first += m.runWords()
	share := ""
	if total := m.snap.tally.Total(); total > 0 {
		share = fmt.Sprintf("%d of %d done", m.snap.tally.ByStatus[dag.Done], total)
	}
	return []string{ends(first, m.badge()+share, m.width), ends(m.counts(), m.spent(), m.width)}
}

func (m *model) runWords() string {
	p, r := m.palette, m.snap.run
	scope := human.Lead(", feature ", harmless(r.Scope.Feature)) + human.Lead(", task ", harmless(r.Scope.Task)) + human.Lead(", tag ", harmless(r.Scope.Tag)) +
		human.Lead(", and ", human.Some(m.snap.others, "more run"))
	switch m.snap.state {
	case running:
		words := "running"
		if r.Follows() && !slices.ContainsFunc(m.snap.attempts, func(a dag.Attempt) bool { return a.Run == r.ID }) {
			words = "waiting for tasks"
		}
		return p.Green(words) + " " + span(m.at.Sub(r.StartedAt)) + scope
	case stopping:
		return p.Yellow("stopping") + " " + span(m.at.Sub(r.StartedAt)) + scope
	case died:
		return p.Red("died") + scope + "; the next run recovers its tasks"
	case ended:
		words, tone := render.Outcome(r.Outcome, m.snap.tally.ByStatus[dag.Failed])
		return tone.Paint(p, "ended: "+steady(words)) + " in " + span(r.EndedAt.Sub(r.StartedAt)) + scope + human.Lead(": ", harmless(r.Reason))
	case none:
	}
	switch {
	case !m.known:
		return "reading..."
	case len(m.snap.tasks) == 0:
		return "no tasks yet"
	default:
		return "no run yet; start one with: ralph run"
	}
}

func (m *model) counts() string {
	p, t := m.palette, m.snap.tally
	total := t.Total()
	if total == 0 {
		return ""
	}
	bar := ""
	if size := min(m.width/8, 24); size >= 8 {
		full := size * t.ByStatus[dag.Done] / total
		bar = p.Green(strings.Repeat("█", full)) + p.Dim(strings.Repeat("░", size-full)) + "  "
	}
	var parts []string
	add := func(n int, word string, paint func(string) string) {
		if n > 0 {
			parts = append(parts, paint(fmt.Sprintf("%d %s", n, word)))
		}
	}
	add(t.ByStatus[dag.InProgress], "running", p.Cyan)
	add(t.ByStatus[dag.Failed], "failed", p.Red)
	if t.Waiting > 0 {
		parts = append(parts, p.Yellow(fmt.Sprintf("%d waiting (%s left)", t.Waiting, left(t.NextWait, m.at))))
	}
	add(t.Ready, "ready", plain)
	add(t.ByStatus[dag.Blocked], "blocked", p.Yellow)
	return bar + strings.Join(parts, ", ")
}

// roomy is from which width on everything is said.
const roomy = 100

func (m *model) spent() string {
	used := ""
	if n := m.snap.spent.Tokens(); n > 0 && (m.width >= roomy || m.snap.spent.CostUSD == nil) {
		used = tokens(n)
	}
	return strings.Join(human.Parts(used, m.palette.Bold(render.Cost(m.snap.spent.Usage))), ", ")
}

// attemptTitle says what the numbers before attempts are, and how much work is to land.
func (m *model) attemptTitle() string {
	title := m.palette.Bold("running")
	if slices.ContainsFunc(m.snap.attempts, func(a dag.Attempt) bool { return a.Slot > 0 }) {
		title += ", by slot"
	}
	if n := len(m.snap.queue); n > 0 {
		title += fmt.Sprintf(", %d to land", n)
	}
	return title
}

// attemptLines are the attempts that are under way. If there is no space for all of
// them, the last line counts the rest.
func (m *model) attemptLines(height int) []string {
	var lines []string
	width := 1 // of the numbers of slots
	for _, a := range m.snap.attempts {
		width = max(width, len(strconv.Itoa(a.Slot)))
	}
	for i, a := range m.snap.attempts {
		if rest := len(m.snap.attempts) - i; len(lines) == height-1 && rest > 1 {
			return append(lines, m.palette.Dim(fmt.Sprintf("  and %d more", rest)))
		}
		right := term.Cut(strings.Join(m.facts(a), "  "), max(m.width*2/3, 20))
		title := a.Task // it may be outside of the scope
		if i, known := m.byID[a.Task]; known {
			title = harmless(m.snap.tasks[i].Title)
		}
		sign := "●"
		if a.Slot > 0 {
			sign = fmt.Sprintf("%*d", width, a.Slot)
		}
		lines = append(lines, ends(m.marker(a.Task)+m.palette.Cyan(sign+" ")+title, m.palette.Dim(right), m.width))
	}
	return lines
}

// facts are what is known of an attempt, the most wanted of it when there is little
// space.
func (m *model) facts(a dag.Attempt) []string {
	facts := []string{who(a)}
	if a.Iteration > 0 && m.width >= roomy {
		facts = append(facts, fmt.Sprintf("iteration %d", a.Iteration))
	}
	facts = append(facts, m.phase(a), span(m.at.Sub(a.StartedAt)))
	if n := a.AllTokens(); m.width < roomy && n > 0 {
		return append(facts, human.Parts(tokens(n), render.Cost(a.Usage))...)
	}
	return append(facts, used(a)...)
}

func (m *model) marker(task string) string {
	if task == m.selected {
		return m.palette.Bold("> ")
	}
	return "  "
}

// span is in whole seconds: what changes faster is no use to anybody who looks.
func span(d time.Duration) string { return human.Span(d.Truncate(time.Second)) }

// left is how long it is until a time. A wait of 30 s begins with 30.
func left(until, now time.Time) string { return span(until.Sub(now) + time.Second - time.Millisecond) }

// amount writes a number of tokens in few columns: 950, 12.3k, 4.5M.
func amount(n int64) string {
	switch {
	case n < 1000:
		return strconv.FormatInt(n, 10)
	case n < 100_000:
		return fmt.Sprintf("%.1fk", float64(n)/1000)
	case n < 1_000_000:
		return fmt.Sprintf("%dk", n/1000)
	default:
		return fmt.Sprintf("%.1fM", float64(n)/1e6)
	}
}

func tokens(n int64) string {
	if n == 1 {
		return "1 token"
	}
	return amount(n) + " tokens"
}

// face is how a task is shown: a sign and words, so that nothing hangs on colour.
type face struct {
	sign  string
	words string
	paint func(string) string
}

func (m *model) face(t dag.Outline) face {
	p := m.palette
	switch now := m.at; {
	case t.Status == dag.Done:
		return face{"✓", "done", p.Green}
	case t.Status == dag.Cancelled:
		return face{"–", "cancelled", p.Dim}
	case t.Status == dag.Failed:
		return face{"✗", "failed", p.Red}
	case t.Status == dag.Blocked:
		return face{"■", "blocked", p.Yellow}
	case t.Status == dag.InProgress:
		words := "running"
		if a, ok := m.attemptAt(t.ID); ok {
			words = span(now.Sub(a.StartedAt))
		}
		return face{"●", words, p.Cyan}
	case t.Asks > 0:
		return face{"?", "asks", p.Yellow}
	case t.ToReview:
		return face{"?", "to review", p.Yellow}
	case t.Stands:
		return face{"?", dag.Standing, p.Yellow}
	case t.Paused:
		return face{"‖", "paused", p.Yellow}
	case t.Leaving:
		return face{"●", "stopping", p.Yellow}
	case t.Doomed:
		return face{"·", "cannot run", p.Dim}
	case t.OpenDeps > 0 || t.Held:
		return face{"·", "waits", p.Dim}
	case t.Children > 0:
		return face{"·", "", p.Dim}
	case t.NotBefore.After(now):
		return face{"◷", "in " + left(t.NotBefore, now), p.Yellow}
	case t.Unverified:
		return face{"○", "unverified", plain}
	default:
		return face{"○", "ready", plain}
	}
}

func plain(s string) string { return s }

// phase is how far an attempt has come: at work, on the way to the target, or what is done beside.
func (m *model) phase(a dag.Attempt) string {
	if doing := m.doing[a.ID]; doing != "" {
		return harmless(doing)
	}
	if slices.ContainsFunc(m.asksOf(a.Task), func(r inbox.Request) bool { return r.Attempt == a.ID }) {
		return "asks"
	}
	for i, e := range m.snap.queue {
		if e.Attempt == a.ID {
			text := e.String()
			if i > 0 {
				text += fmt.Sprintf(", %d ahead", i)
			}
			return text
		}
	}
	if a.Phase == dag.Prompted {
		return "working"
	}
	return string(a.Phase)
}

func used(a dag.Attempt) []string {
	count := func(n int64, word string) string {
		if n == 0 {
			return word + " unknown"
		}
		return amount(n) + " " + word
	}
	words := ""
	if a.Tokens() > 0 {
		words = count(a.TokensIn+a.TokensCached, "in") + ", " + count(a.TokensOut, "out")
	}
	return human.Parts(words, render.Cost(a.Usage))
}

func who(a dag.Attempt) string {
	name := harmless(a.Agent)
	if model := harmless(cmp.Or(a.ModelEffective, a.Model)); model != "" && model != "default" {
		name += " " + model
	}
	return term.Cut(name, 40)
}
