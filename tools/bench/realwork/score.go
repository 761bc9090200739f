package main

import (
	"strings"

	"ralph/internal/redact"
	"ralph/internal/risk"
	"ralph/verify/suite"
)

// spent is what the recorded attempt took.
func (f features) spent() (s risk.Spent) {
	if f.Cost != nil && f.Steps != nil {
		s = risk.Spent{CostUSD: *f.Cost, Steps: *f.Steps}
	}
	return s
}

// score has ralph measure recorded work, as far as it is known before anything runs: what it cost and how large it is, and, if the
// change is there, what it has in it. The attempts at a repository are each other's past.
func score(list []features) (scored []ranked) {
	past := map[string][]risk.Spent{}
	for _, f := range list {
		past[f.Repo] = append(past[f.Repo], f.spent())
	}
	shaped := redact.New()
	for _, f := range list {
		facts := risk.Facts{Lines: f.Lines, Files: make([]string, f.Files), Spent: f.spent(), Usual: risk.UsualOf(past[f.Repo])}
		starts := append(patched.FindAllStringSubmatchIndex(f.patch, -1), []int{len(f.patch)})
		for i, at := range starts[:len(starts)-1] {
			text, name := f.patch[at[0]:starts[i+1][0]], f.patch[at[2]:at[3]]
			file := risk.File{Path: name, Patch: text, Test: suite.IsTest(name), Deleted: strings.Contains(text, "\ndeleted file mode ")}
			facts.See(file, func(s string) bool { return shaped.Text(s) != s })
		}
		scored = append(scored, ranked{risk.Of(facts).Risk, !f.Resolved})
	}
	return scored
}
