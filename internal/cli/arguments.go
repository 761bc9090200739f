package cli

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"ralph/dag"
	"ralph/internal/proc"
	"ralph/internal/seq"
)

// RunFlag restricts a command to one run.
var RunFlag = Flag{Name: "run", Usage: "only run `ID`", Shown: "all runs"}

// RunID resolves what --run names; empty means all runs.
func RunID(g *dag.Graph, typed string) (string, error) {
	if typed == "" {
		return "", nil
	}
	run, err := g.History.RunOrLast(typed)
	return run.ID, err
}

// Absolute is a path that was typed, from the root of the file system.
func Absolute(a *App, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	dir, err := a.Getwd()
	if err != nil {
		return path
	}
	return filepath.Join(dir, path)
}

// Life asks the operating system about a process that claimed a task. One whose attempts are made on other machines counts as
// alive until its run has ended: somebody will go on with it.
func Life(p dag.Process) dag.Life {
	if p.Remote != "" {
		return dag.Alive
	}
	switch proc.Liveness(proc.Identity{Pid: int(p.PID), Start: uint64(p.Start), BootID: p.BootID, PIDNS: p.Namespace}) {
	case proc.Alive:
		return dag.Alive
	case proc.Dead:
		return dag.Dead
	default:
		return dag.Unknown
	}
}

// CheckLimit refuses a --limit that makes no sense.
func CheckLimit(n int) error {
	if n < 0 {
		return Usagef("--limit cannot be negative")
	}
	return nil
}

// ResolveTask returns the task whose ID was typed.
func ResolveTask(g *dag.Graph, typed string) (dag.Task, error) {
	if typed == "" {
		return dag.Task{}, Usagef("ID is empty")
	}
	t, err := g.Tasks.Resolve(typed)
	return t, err
}

// OnTask makes a command of a function that reads the graph about the task whose ID is the argument.
func OnTask(run func(context.Context, *App, *Session, *dag.Graph, dag.Task, PlainOptions) error) Runner {
	return InProject(func(ctx context.Context, a *App, s *Session, o PlainOptions) error {
		return s.Store.View(ctx, func(g *dag.Graph) error {
			t, err := ResolveTask(g, o.Args[0])
			if err != nil {
				return err
			}
			return run(ctx, a, s, g, t, o)
		})
	})
}

// ResolveTasks returns the tasks whose IDs were typed, each once.
func ResolveTasks(g *dag.Graph, typed []string) (tasks []dag.Task, err error) {
	for _, id := range typed {
		t, err := ResolveTask(g, id)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(tasks, func(other dag.Task) bool { return other.ID == t.ID }) {
			tasks = append(tasks, t)
		}
	}
	return tasks, nil
}

// FeatureByName turns a name or an ID into the name; "" stays "".
func FeatureByName(g *dag.Graph, typed string) (string, error) {
	if typed == "" {
		return "", nil
	}
	f, err := g.Plan.Feature(typed)
	if err != nil {
		return "", MakeIt(err, typed)
	}
	return f.Name, nil
}

// ReadText takes a text as it is, from a file (@FILE) or from stdin (-).
func ReadText(a *App, given string) (string, error) {
	name, isFile := strings.CutPrefix(given, "@")
	if given == "-" {
		name, isFile = "-", true
	}
	if !isFile {
		return given, nil
	}
	data, err := a.ReadInput(name)
	return strings.TrimRight(string(data), "\n"), err
}

// MakeIt is the hint for a feature that does not exist, unless its name is mistyped or none can have it.
func MakeIt(err error, name string) error {
	var missing *dag.MissingError
	if errors.As(err, &missing) && similarTo(missing) != "" || dag.CheckFeatureName(name) != nil {
		return err
	}
	return Hint(err, "make it with: ralph feature create %s", name)
}

// StatusReady is what the list calls a pending task that a run would start now.
const StatusReady = "ready"

// StatusWords are the values of --status.
func StatusWords() []string {
	return append([]string{StatusReady}, seq.Map(dag.Statuses(), func(s dag.Status) string { return string(s) })...)
}

// ParseStatus reads a status as it is typed; "" for none.
func ParseStatus(text string) (dag.Status, error) {
	names := StatusWords()
	if slices.Contains(names, text) {
		return dag.Status(text), nil
	}
	err := Usagef("no status %q: it is one of %s", text, strings.Join(names, ", "))
	usual := map[string]string{"open": "pending", "todo": "pending", "running": "in_progress", "closed": "done", "canceled": "cancelled"}
	return "", Suggest(err, "did you mean: --status %s", text, names, usual)
}
