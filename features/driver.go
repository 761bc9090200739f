package features

import (
	"os"

	"ralph/internal/git"
)

// Driver merges the plan files of two branches.
func Driver() git.Driver {
	program, err := os.Executable()
	if err != nil {
		program = "ralph" // what PATH has
	}
	return git.Driver{
		Name: "ralph", Title: "plans of ralph", Program: program, Args: "merge-driver %O %A %B %P",
		Pattern: ".ralph/**/" + TasksFile, Example: ".ralph/" + TasksFile,
	}
}
