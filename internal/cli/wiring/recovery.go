package wiring

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"ralph/dag"
	"ralph/internal/cli"
	"ralph/internal/inbox"
	"ralph/internal/permission"
	"ralph/internal/render/transcript"
	"ralph/internal/sandbox"
	"ralph/internal/toolcall"
	"ralph/knowledge"
	"ralph/loop"
	"ralph/loop/recovery"
)

// Recoverer reclaims the tasks of dead runs of a project.
func Recoverer(a *cli.App, s *cli.Session) recovery.Recoverer {
	var o loop.Options
	o.Place.Runs, o.Prompt.Knowledge, o.Host.Redact, o.Host.Now = filepath.Join(s.Project.State(), "runs"), knowledge.Open(s.Project.Root), a.Redact, a.Now
	if check := s.Config.Verify; len(check.Reviewers) > 0 || check.Feature {
		finder := a.Finder(s.Config)
		chosen, _ := finder.Choose("") // a run says so if there is none
		o.Verify.Reviewers, o.Verify.Acceptor = Reviewers(a, check, finder, chosen), Acceptor(a, s, finder, chosen)
	}
	return recovery.Recoverer{
		Store: s.Store, Life: cli.Life, Sweep: sandbox.Sweep(s.Project.Root), Count: sandbox.Count(s.Project.Root), Rules: RecoveryRules(s), Now: a.Now,
		Dir:      s.Project.Root,
		Parallel: FindParallel(a, s), Complete: loop.Completer(&o), Calls: RiskyCalls(a, s), Expire: s.Config.Inbox.Expire.Std(),
		Trust: cli.TrustOf(a, s.Project),
	}
}

// RiskyCalls finds the tool calls of an attempt that may have done something which cannot be seen in the project's files.
// A person is asked about those that a rule wants to be asked about.
func RiskyCalls(a *cli.App, s *cli.Session) func(dag.Attempt) ([]string, []inbox.Cut, error) {
	return func(at dag.Attempt) (began []string, cut []inbox.Cut, err error) {
		all, err := transcript.Calls(at.Transcript)
		if err != nil {
			return nil, nil, err
		}
		book, err := NewBook(a, s.Project, s.Config)
		if err != nil {
			return nil, nil, err
		}
		for _, c := range all {
			if !slices.Contains([]string{toolcall.Execute, toolcall.Delete, toolcall.Other, ""}, c.Kind) {
				continue
			}
			text := cmp.Or(c.Command, strings.TrimSpace(c.Text+" "+strings.Join(c.Paths, ", ")))
			began = append(began, text)
			if !c.Over {
				cut = append(cut, inbox.Cut{Text: text, Ask: book.Decide(c.Call).Answer == permission.Ask})
			}
		}
		return began, cut, nil
	}
}

// RecoveryRules are those of the configuration.
func RecoveryRules(s *cli.Session) recovery.Rules {
	r := s.Config.Recovery
	return recovery.Rules{
		MaxAge: r.MaxAge.Std(), MaxInterruptions: r.MaxInterruptions, MaxAttempts: s.Config.Run.MaxAttempts, OnDirty: recovery.OnDirty(r.OnDirty),
	}
}
