package main

import "ralph/risk"

// score has ralph measure recorded work.
func score(list []features) (scored []ranked) {
	for _, f := range list {
		facts := risk.Facts{Lines: f.Lines, Files: make([]string, f.Files)}
		scored = append(scored, ranked{risk.Of(facts).Risk, !f.Resolved})
	}
	return scored
}
