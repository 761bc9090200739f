package taskcmd

import (
	"context"
	"fmt"
	"os"

	"ralph/internal/cli"
	"ralph/internal/git"
	"ralph/internal/taskfile"
)

// MergeDriver is the command "ralph merge-driver".
var MergeDriver = cli.Command{
	Name: "merge-driver", Args: "BASE OURS THEIRS [PATH]", Short: "merge two versions of a plan file; git runs it",
	Long: `Merges the tasks.jsonl of two branches by task and by field, and writes the result to OURS. ralph init --git
makes git run it, as: ralph merge-driver %O %A %B %P

A field that one side changed is that side's. If both changed it, the task that was changed more often counts.
Lists are merged as sets. A done task stays done unless it was reset later. Relations that only together make a
cycle, or lead to a task that the other side deleted, are dropped and listed on stderr. What ralph refuses to merge (a
file that is not a plan, one ID for two tasks) git merges as text, with its markers.`,
	Example: "ralph merge-driver base.jsonl ours.jsonl theirs.jsonl",
	Exits:   "1 refused: OURS has both sides as text, and git has a conflict",
	Run:     cli.Action(runMergeDriver),
}

func runMergeDriver(ctx context.Context, a *cli.App, o cli.PlainOptions) error {
	path := o.Args[1]
	if len(o.Args) > 3 {
		path = o.Args[3]
	}
	dropped, err := mergePlans(a, o.Args)
	if err != nil {
		err = fmt.Errorf("merge %s: %w", path, err)
		// Ours alone, once it is added, would look as if both sides were in it.
		if texts := git.MergeText(ctx, o.Args[0], o.Args[1], o.Args[2]); texts != nil {
			err = fmt.Errorf("%w; %s has only one side: git merge-file: %w", err, o.Args[1], texts)
		}
	}
	for _, what := range dropped {
		a.Note("warning: merge %s: %s", path, what)
	}
	return err
}

// mergePlans merges the second and the third of three files into the second.
func mergePlans(a *cli.App, names []string) (dropped []string, err error) {
	var files [3]taskfile.File
	for i, side := range []string{"base", "ours", "theirs"} {
		data, err := a.ReadInput(names[i])
		if err == nil {
			files[i], err = taskfile.ParseFile(data)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", side, err)
		}
	}
	merged, dropped, err := taskfile.Merge(files[0], files[1], files[2])
	if err != nil {
		return nil, err
	}
	// The file is git's own: it was made for this, and git reads it from this very name.
	return dropped, os.WriteFile(names[1], merged.Bytes(), 0o600)
}
