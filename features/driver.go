package features

import "ralph/internal/git"

// Driver merges the plan files of two branches.
func Driver() git.Driver {
	return git.Driver{
		Name: "ralph", Title: "plans of ralph", Command: "ralph merge-driver %O %A %B %P",
		Pattern: ".ralph/**/" + TasksFile, Example: ".ralph/" + TasksFile,
	}
}
