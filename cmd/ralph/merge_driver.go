package main

import (
	"context"
	"fmt"
	"os"

	"ralph/internal/taskfile"
)

var mergeDriverCommand = command{
	name: "merge-driver", args: "BASE OURS THEIRS [PATH]", short: "merge two versions of a plan file; git runs it",
	long: `Merges the tasks.jsonl of two branches by task and by field, and writes the result to OURS. ralph init --git
makes git run it, as: ralph merge-driver %O %A %B %P

A field that one side changed is that side's. If both changed it, the task that was changed more often counts.
Lists are merged as sets. A done task stays done unless it was reset later. Relations that only together make a
cycle, or lead to a task that the other side deleted, are dropped and listed on stderr.`,
	example: "ralph merge-driver base.jsonl ours.jsonl theirs.jsonl",
	exits:   "1 refused (a file that is no plan, or one ID for two tasks): OURS is as it was, and git has a conflict",
	run:     action(runMergeDriver),
}

func runMergeDriver(_ context.Context, a *app, o plainOptions) error {
	path := o.Args[1]
	if len(o.Args) > 3 {
		path = o.Args[3]
	}
	var files [3]taskfile.File
	for i, side := range []string{"base", "ours", "theirs"} {
		data, err := a.readInput(o.Args[i])
		if err == nil {
			files[i], err = taskfile.ParseFile(data)
		}
		if err != nil {
			return fmt.Errorf("merge %s: %s: %w", path, side, err)
		}
	}
	merged, dropped, err := taskfile.Merge(files[0], files[1], files[2])
	if err != nil {
		return fmt.Errorf("merge %s: %w", path, err)
	}
	// The file is git's own: it was made for this, and git reads it from this very name.
	if err := os.WriteFile(o.Args[1], merged.Bytes(), 0o600); err != nil {
		return fmt.Errorf("merge %s: %w", path, err)
	}
	for _, what := range dropped {
		a.note("warning: merge %s: %s", path, what)
	}
	return nil
}
