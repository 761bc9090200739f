package web

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"ralph/dag"
	"ralph/internal/event"
	"ralph/internal/git"
	"ralph/internal/inbox"
	"ralph/internal/render"
	"ralph/internal/report"
)

// taskPage is everything about a task.
type taskPage struct {
	report.TaskView
	State                                    string
	Reasons                                  []dag.Reason
	BlockedBy, Dependents, Subtasks, Friends []dag.Task
	Tried                                    []tried
	Asks                                     []request
	Review                                   *dag.Merge
	Landed                                   dag.Merge
	Log                                      []dag.LogEntry
	Cost                                     report.Cost
	Remedy                                   render.Step
}

// tried is an attempt at a task.
type tried struct {
	dag.Attempt
	N    int
	Took time.Duration
	Word string
	Diff bool // what it changed is on record, or in its slot
	Cost string
}

// PageTitle is the task's own.
func (p taskPage) PageTitle() string { return p.ID + " " + p.Title }

// Is says whether the state of a task is one of these: what can be done depends on it.
func (p taskPage) Is(statuses ...string) bool { return slices.Contains(statuses, string(p.Status)) }

// IsGroup says that nobody works on it but on what is below it.
func (p taskPage) IsGroup() bool { return p.Task.Children > 0 }

// around is tasks that have to do with this one.
type around struct {
	Title  string
	Tasks  []dag.Task
	Unlink bool
}

// Around are the tasks that have to do with it.
func (p taskPage) Around() []around {
	return []around{{"Waits for", p.BlockedBy, true}, {"Holds up", p.Dependents, false}, {"Subtasks", p.Subtasks, false}, {"Related", p.Friends, false}}
}

// Efforts are those that there are.
func (taskPage) Efforts() []dag.Effort { return dag.Efforts() }

// New is a subtask.
func (p taskPage) New() newTask { return newTask{Parent: p.ID} }

// Facts are the settings that it has, and what is known of it. Their names are where they lead.
func (p taskPage) Facts() []field {
	found, landed := "", ""
	if p.DiscoveredFrom != "" {
		found = "/tasks/" + p.DiscoveredFrom
	}
	if p.Landed.N > 0 {
		landed = render.Branch(p.Landed.Target) + " " + render.Commit(p.Landed.Candidate)
	}
	var list []field
	for _, f := range dag.Fields {
		if !slices.Contains([]string{"title", "description", "gates", "tags", "max_retries"}, f.Name) { // the page shows them in places of their own
			list = append(list, field{"", f.Label(), strings.Join(f.Lines(p.Detail), ", ")})
		}
	}
	list = append(list, []field{
		{"", "retries", fmt.Sprintf("%d of %d", p.Retries, p.MaxRetries)},
		{"", "verified", p.Verification},
		{"", "cost", p.Cost.String()},
		{"", "claimed by", p.Owner},
		{found, "found by", p.DiscoveredFrom},
		{"", "origin", p.Origin},
		{"", "landed", landed},
		{"", "not before", day(p.NotBefore)},
		{"", "created", day(p.CreatedAt)},
		{"", "ended", day(p.FinishedAt)},
	}...)
	return slices.DeleteFunc(list, func(f field) bool { return f.Value == "" })
}

func day(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format(time.DateTime)
}

// Editable are the settings that the form changes, beside title and description.
func (p taskPage) Editable() []field {
	list := []field{{"--feature", "Feature; none removes it", p.Feature}}
	for _, f := range dag.Fields {
		texts := f.Texts(p.Detail)
		several := slices.ContainsFunc(texts, func(text string) bool { return strings.ContainsAny(text, "\r\n") }) // one would become others
		switch {
		case f.Name == "title", f.Name == "description", several:
		case slices.Contains(weakening, f.Flag) && f.Flag != "agent": // the page could not change it
		case f.IsList():
			list = append(list, field{"--" + f.Flag + "[]", f.Label() + ", one per line: " + f.About(), strings.Join(texts, "\n")})
		default:
			list = append(list, field{"--" + f.Flag, f.Label() + ": " + f.About(), strings.Join(texts, "")})
		}
	}
	return list
}

// WhyText is a reason in a line.
func (taskPage) WhyText(r dag.Reason) string {
	if r.Until.IsZero() {
		return r.Text
	}
	return r.Text + ", until " + r.Until.Local().Format(time.DateTime)
}

func loadTask(v *visit) (any, error) {
	id := v.PathValue("id")
	t, err := v.g.Tasks.Resolve(id)
	if err != nil {
		return nil, err
	}
	if t.ID != id {
		return nil, moved{"/tasks/" + t.ID}
	}
	c := v.project.Config
	views, err := report.ViewTasks(v.g, c.Run.MaxRetries, v.now, t)
	if err != nil {
		return nil, err
	}
	p := taskPage{TaskView: views[0], State: t.State(v.now)}
	p.Reasons, err = v.g.Tasks.Explain(t, v.opts.Life, dag.ClaimOptions{KeepGoing: c.Run.KeepGoing, Skip: dag.Skip{Agent: c.Agent.Use}, Locks: c.Locks})
	if err != nil {
		return nil, err
	}
	p.BlockedBy, _ = v.g.Tasks.Blockers(t) // the first error of the database is that of all that follow
	p.Dependents, _ = v.g.Tasks.Dependents(t)
	p.Subtasks, _ = v.g.Tasks.Children(t)
	p.Friends, _ = v.g.Tasks.Related(t)
	p.Log, _ = v.g.Tasks.Logs(t)
	p.Landed, _ = v.g.Queue.LandedWork(t)
	attempts, _ := v.g.History.Attempts(t)
	var used event.Usage
	for i, at := range attempts {
		used = used.Add(at.Usage)
		p.Tried = append(p.Tried, v.tried(at, i+1))
	}
	slices.Reverse(p.Tried) // the last one says most
	p.Cost = report.CostOf(used)
	if n := len(attempts); n > 0 && !t.StartedAt.IsZero() && t.Unverified == "" && t.Status != dag.InProgress && !attempts[n-1].StartedAt.Before(t.StartedAt) {
		p.Remedy = render.Remedy(attempts[n-1].Rejected, t.ID, t.Status)
	}
	held, _ := v.g.Queue.ToReview()
	for _, m := range held {
		if m.Task == t.ID {
			p.Review = &m
		}
	}
	asked, err := inbox.Waiting(v.g)
	p.Asks = v.requests(slices.DeleteFunc(asked, func(r inbox.Request) bool { return r.Task != t.ID }))
	return p, err
}

func (v *visit) tried(at dag.Attempt, n int) tried {
	end, word := at.EndedAt, render.OutcomeWord(at.Outcome)
	if end.IsZero() {
		end, word = v.now, "running"
	}
	return tried{at, n, end.Sub(at.StartedAt), word, hasDiff(at), report.CostOf(at.Usage).String()}
}

// hasDiff reports whether what an attempt changed is on record, or in its slot.
func hasDiff(at dag.Attempt) bool {
	return at.Tree != "" && at.TreeAfter != "" && at.Tree != at.TreeAfter || at.EndedAt.IsZero() && at.Slot > 0
}

// diffPage is what an attempt changed, or has changed so far.
type diffPage struct {
	dag.Attempt
	Changes        []git.Change
	Added, Removed int
	Left           []git.Left
	Spans          []render.Span
	Note           string
}

// PageTitle names the attempt.
func (p diffPage) PageTitle() string { return "What " + p.ID + " changed" }

// Heading says whether it is over.
func (p diffPage) Heading() string {
	if p.EndedAt.IsZero() {
		return "What it has changed so far"
	}
	return "What it changed"
}

func loadDiff(v *visit) (any, error) {
	at, err := v.g.History.Attempt(v.PathValue("id"))
	if err != nil {
		return nil, err
	}
	return diffPage{Attempt: at}, nil
}

// finish looks at the files, which may take long.
func (p diffPage) finish(v *visit) any {
	d, err := v.project.Diff(v.Context(), p.Attempt)
	switch {
	case err != nil:
		p.Note = v.opts.Redact(err.Error())
	case d.Cut:
		p.Note = "This is the beginning of it."
	case len(d.Changes) == 0:
		p.Note = "It changed nothing."
		if p.EndedAt.IsZero() {
			p.Note = "Nothing yet."
		}
	}
	p.Changes, p.Left, p.Spans = d.Changes, d.Left, render.DiffSpans(render.Block(v.opts.Redact(d.Patch)))
	for _, c := range d.Changes {
		p.Added, p.Removed = p.Added+c.Added, p.Removed+c.Removed
	}
	return p
}
