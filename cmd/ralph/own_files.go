package main

import (
	"encoding/json"
	"slices"
	"strings"

	"ralph/dag"
	"ralph/internal/proc"
)

// outputKey is where the settings of a run name the files that it writes. It is no flag,
// so that a run that continues another one does not inherit it.
const outputKey = "output files"

// ownFiles lists, as names below the project, the files that ralph itself writes there
// while it runs: they are no evidence of work. Those are what this process has open, what this
// command writes now and then or at its end, and what other runs recorded.
func ownFiles(a *app, s *session, output runOutput) func([]dag.Run) []string {
	var named []string
	for _, f := range output.files() {
		if f.flag != "metrics" && f.name != "-" {
			named = append(named, absolute(a, f.name))
		}
	}
	if path, _ := metricsFile(a, s, output); path != "" {
		named = append(named, path)
	}
	return func(runs []dag.Run) []string {
		names := s.project.Names(slices.Concat(named, proc.OpenForWriting()))
		for _, run := range runs {
			names = append(names, outputOf(run)...)
		}
		slices.Sort(names)
		return slices.Compact(names)
	}
}

// outputOf lists the files below the project that a run recorded as its output.
func outputOf(run dag.Run) []string {
	var given map[string]string
	if json.Unmarshal([]byte(run.Settings), &given) != nil || given[outputKey] == "" {
		return nil
	}
	return strings.Split(given[outputKey], "\x00")
}
