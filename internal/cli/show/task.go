// Package show has the words and colours in which several commands print tasks and features.
package show

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"ralph/dag"
	"ralph/internal/cli"
	"ralph/internal/event"
	"ralph/internal/human"
	"ralph/internal/jsonval"
	"ralph/internal/plansync"
	"ralph/internal/render"
	"ralph/internal/report"
	"ralph/internal/seq"
	"ralph/internal/term"
)

// Progress draws how much is done, and says it in words.
func Progress(f dag.Feature) string {
	total, done := f.Total(), f.Tasks[dag.Done]
	if total == 0 {
		return "no tasks"
	}
	const width = 20
	filled := done * width / total
	text := fmt.Sprintf("%s%s %d of %d done", strings.Repeat("█", filled), strings.Repeat("░", width-filled), done, total)
	for _, s := range []dag.Status{dag.InProgress, dag.Failed, dag.Blocked} {
		if n := f.Tasks[s]; n > 0 {
			text += fmt.Sprintf(", %d %s", n, strings.ReplaceAll(string(s), "in_progress", "running"))
		}
	}
	return text
}

// RefsJSON is what work does to tags and branches.
func RefsJSON(refs []dag.MadeRef) []jsonval.Object {
	return seq.Map(refs, func(r dag.MadeRef) jsonval.Object {
		return jsonval.Object{"name", r.Name, "id", cmp.Or(r.Value, r.ID), "of_the_work", r.Own, "deleted", r.Gone}
	})
}

// NothingToRun is a project in which nothing was planned.
type NothingToRun string

func (e NothingToRun) Error() string { return string(e) }

func (e NothingToRun) Unwrap() error { return dag.ErrNotFound }

// NothingPlanned says how to begin.
const NothingPlanned = `no tasks yet; add one with: ralph task add "TITLE"`

// NoPlan says where tasks come from if there are none. A clone has only those that
// were exported.
func NoPlan(a *cli.App, s *cli.Session) string {
	saved := plansync.Files(s.Project)
	switch {
	case s.Unsynced != nil:
		return "no tasks yet; this repository has a plan, which cannot be taken in"
	case len(saved) > 0:
		commands := seq.Map(saved, func(feature string) string {
			if feature == "" {
				return "ralph task import " + human.Path(plansync.Path(s.Project, ""), s.Project.Root)
			}
			return "ralph run --feature " + feature
		})
		slices.Sort(commands)
		why := "git does not carry it"
		if s.Config.Git.Sync != "auto" {
			why = "git.sync is " + s.Config.Git.Sync
		}
		return "no tasks yet; this repository has a plan, but " + why + ": import it with: " + strings.Join(commands, ", or ")
	case cli.InCI(a):
		return "no tasks: the database is not in git, so a clone has only plans that were exported; where the plan is, " +
			"type: ralph task export --save, commit .ralph, and clone again"
	default:
		return NothingPlanned
	}
}

// TasksOf are the tasks of views.
func TasksOf(views []report.TaskView) []dag.Task {
	return seq.Map(views, func(v report.TaskView) dag.Task { return v.Task })
}

// Summary lists the counts that are not zero, the good news first.
func Summary(t dag.Tally) string {
	var parts []string
	for _, c := range []struct {
		n    int
		word string
	}{
		{t.ByStatus[dag.Done], "done"},
		{t.ByStatus[dag.InProgress], "running"},
		{t.Ready, "ready"},
		{t.ByStatus[dag.Pending] - t.Ready, "waiting"},
		{t.ByStatus[dag.Blocked], "blocked"},
		{t.ByStatus[dag.Failed], "failed"},
		{t.ByStatus[dag.Cancelled], "cancelled"},
	} {
		if c.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", c.n, c.word))
		}
	}
	if !t.NextWait.IsZero() {
		parts = append(parts, "the next wait ends at "+t.NextWait.Local().Format(time.TimeOnly))
	}
	return strings.Join(parts, ", ")
}

// PrintTasks prints what was found by f: as JSON, as draw does it, or why there is nothing.
func PrintTasks(a *cli.App, s *cli.Session, g *dag.Graph, f dag.Filter, asJSON bool, tasks []dag.Task, draw func() error) error {
	if asJSON {
		list, err := ViewTasks(a, s, g, tasks...)
		if err != nil {
			return err
		}
		return a.PrintJSON(list)
	}
	if len(tasks) == 0 {
		return NoTasks(a, s, g, f)
	}
	return draw()
}

// NoTasks says what an empty list means, on stderr, so that scripts see nothing.
func NoTasks(a *cli.App, s *cli.Session, g *dag.Graph, f dag.Filter) error {
	tally, err := g.Tasks.Tally(dag.Scope{Feature: f.Feature})
	switch {
	case err != nil:
		return err
	case tally.Total() == 0:
		a.Note("%s", NoPlan(a, s))
	case tally.Total() == tally.ByStatus[dag.Done]+tally.ByStatus[dag.Cancelled] && len(f.Statuses) > 0 && !slices.Contains(f.Statuses, dag.Done):
		a.Note("nothing is left to do; see the tasks with: ralph task list --all")
	case f.Ready:
		a.Note("no task is ready; see what waits with: ralph status")
	default:
		a.Note("no such task among %s; see all with: ralph task list --all", human.Count(tally.Total(), "task"))
	}
	return nil
}

// ViewTasks reads what is shown of tasks.
func ViewTasks(a *cli.App, s *cli.Session, g *dag.Graph, tasks ...dag.Task) ([]report.TaskView, error) {
	return report.ViewTasks(g, s.Config.Run.MaxRetries, a.Now(), tasks...)
}

// ViewFeature is what is shown of a feature.
func ViewFeature(s *cli.Session, f dag.Feature) report.FeatureView {
	return report.FeatureView{Feature: f, Folder: s.Project.Feature(f.Name)}
}

// Remedy is what a person may do about work that was rejected last.
func Remedy(t dag.Task, attempts []dag.Attempt) render.Step {
	n := len(attempts)
	if n == 0 || t.StartedAt.IsZero() || t.Unverified != "" || t.Status == dag.InProgress || attempts[n-1].StartedAt.Before(t.StartedAt) {
		return render.Step{}
	}
	return render.Remedy(attempts[n-1].Rejected, t.ID, t.Status)
}

// RemedyText is a step that helps, as it is typed.
func RemedyText(a *cli.App, r render.Step) string {
	if r.Command == "" {
		return ""
	}
	return a.FieldLines("next", r.Command+": "+r.Why)
}

// PrunedText says when files were removed.
func PrunedText(at time.Time) string {
	return "removed by ralph gc on " + at.Local().Format(time.DateOnly)
}

// GateText is what a gate said.
func GateText(g dag.GateRecord) string {
	verdict := string(g.Verdict)
	if g.Verdict == event.GateFirstChecks {
		verdict = "fails with the checks that the feature began with"
	}
	text := fmt.Sprintf("%s: %s (%s)", verdict, g.Command, g.Exit)
	if g.Baseline != "" {
		text += ", " + string(g.Baseline) + " before the work"
	}
	return text + human.Lead("; ", human.Tests(g.Tests, g.TestsBefore))
}

// TaskSection lists tasks below a title, after an empty line; no tasks give no text.
func TaskSection(a *cli.App, title string, tasks []dag.Task) string {
	if len(tasks) == 0 {
		return ""
	}
	p := a.Palette()
	t := &term.Table{Width: a.Width}
	for _, task := range tasks {
		t.Add(term.Cell{Text: task.ID, Paint: p.Cyan}, StateCell(a, p, task), term.Cell{Text: task.Title})
	}
	return "\n" + title + "\n" + t.Indented()
}

// StateCell is the state of a task in a table.
func StateCell(a *cli.App, p term.Palette, t dag.Task) term.Cell {
	word := t.State(a.Now())
	return term.Cell{Text: word, Paint: StatePaint(p, word)}
}

// StatePaint is the colour of a word of dag.Task.State, and of the status of a feature.
func StatePaint(p term.Palette, state string) func(string) string {
	paint, ok := map[string]func(string) string{
		"done": p.Green, "failed": p.Red, "blocked": p.Yellow, "paused": p.Yellow, "asks": p.Yellow, "to review": p.Yellow, dag.Standing: p.Yellow,
		"running": p.Cyan, "ready": p.Bold, "unverified": p.Bold, dag.Landing: p.Cyan,
	}[state]
	if !ok {
		return p.Dim
	}
	return paint
}

// UnverifiedText says what becomes of finished work.
func UnverifiedText(t dag.Task) string {
	if t.Lands {
		return "a person accepted its work; " + LandsText
	}
	return "its work is finished and waits for verification; no agent works on it before that"
}

// LandsText says when accepted work lands.
const LandsText = "it lands with: ralph merge, or at once if a run on its branch is active and has a slot free"

// ReasonText is a reason with the time at which it ends, if it does so by itself.
func ReasonText(r dag.Reason, now time.Time) string {
	if r.Until.IsZero() {
		return r.Text
	}
	left := r.Until.Sub(now).Round(time.Second)
	if left <= 0 {
		return fmt.Sprintf("%s (its lease expired %s ago; see: ralph recover)", r.Text, -left)
	}
	return fmt.Sprintf("%s (until %s, %s from now)", r.Text, r.Until.Local().Format(time.DateTime), left)
}
