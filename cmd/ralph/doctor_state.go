package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"ralph/dag"
	"ralph/internal/db"
	"ralph/internal/human"
)

// foundUnopened is about a database that cannot even be opened.
func foundUnopened(err error) finding {
	text := strings.ReplaceAll(err.Error(), dag.ErrRefused.Error()+": ", "")
	return found("database", levelProblem, text, hintFor(err))
}

// examineState looks at what the database holds. What cannot be read is a finding,
// too; an error means that the command was interrupted.
func (a *app) examineState(c *cli.Context, s *session) ([]finding, error) {
	if c.Bool("fix") {
		var mended int
		err := s.store.Update(c.Context, func(g *dag.Graph) (err error) { mended, err = g.Mend(); return err })
		if err != nil {
			return nil, fmt.Errorf("mend the derived columns: %w", err)
		}
		a.note("%s mended", human.Count(mended, "task"))
	}
	var findings []finding
	unreadable := func(check string, err error) {
		if err != nil {
			findings = append(findings, found(check, levelProblem, "cannot be read: "+err.Error(), hintFor(err)))
		}
	}
	unreadable("database", s.store.View(c.Context, func(g *dag.Graph) error {
		faults, err := g.Integrity()
		if err != nil {
			return err
		}
		tally, err := g.Tally(dag.Scope{})
		if err != nil && len(faults) == 0 {
			return err
		}
		findings = append(findings, foundFile(s, tally.Total(), faults))
		return nil
	}))
	unreadable("derived columns", s.store.View(c.Context, func(g *dag.Graph) error {
		faults, err := g.Verify()
		if err == nil {
			findings = append(findings, foundDerived(faults))
		}
		return err
	}))
	dead, err := a.examineDead(c, s)
	if unreadable("dead runs", err); err == nil {
		findings = append(findings, dead)
	}
	return findings, c.Err()
}

func foundFile(s *session, tasks int, faults []dag.Fault) finding {
	if len(faults) > 0 {
		err := &db.Error{Path: s.project.DB(), Kind: db.Damaged}
		mend := "restore it from a backup, or export what can be read: ralph task export --with-status"
		if saved := rescued(s.project.Root); len(saved) > 0 {
			mend += "; an older state is in " + saved[0]
		}
		return found("database", levelProblem, err.Error(), mend, faultTexts(faults)...)
	}
	size := int64(0)
	if info, err := os.Stat(s.project.DB()); err == nil {
		size = info.Size()
	}
	return found("database", levelOK, fmt.Sprintf("%s, %s", human.Count(tasks, "task"), human.Bytes(size)), "")
}

func foundDerived(faults []dag.Fault) finding {
	if len(faults) == 0 {
		return found("derived columns", levelOK, "they agree with the graph", "")
	}
	return found("derived columns", levelProblem, "they disagree with what they are derived from", "ralph doctor --fix", faultTexts(faults)...)
}

func faultTexts(faults []dag.Fault) []string {
	var texts []string
	for _, f := range faults {
		text := f.Text
		if f.Task != "" {
			text = f.Task + ": " + text
		}
		texts = append(texts, text)
	}
	return texts
}

// examineDead says what recovery would have to do.
func (a *app) examineDead(c *cli.Context, s *session) (finding, error) {
	rec, err := a.recoverer(c, s).Preview(c.Context)
	if errors.Is(err, dag.ErrNotFound) {
		err = nil // somebody else was faster
	}
	if err != nil {
		return finding{}, err
	}
	var details []string
	for _, t := range rec.Tasks {
		details = append(details, t.Task+": claimed by run "+t.Run+", which has died")
	}
	for _, run := range rec.Runs {
		details = append(details, "run "+run+" has died and is not on record as ended")
	}
	if rec.Orphans > 0 {
		details = append(details, human.Count(rec.Orphans, "process")+" of dead runs still there")
	}
	switch {
	case len(details) == 0:
		return found("dead runs", levelOK, "nothing is left of any", ""), nil
	case len(rec.Tasks)+rec.Orphans == 0:
		return found("dead runs", levelWarning, "the record of a run is open", "ralph recover", details...), nil
	}
	return found("dead runs", levelProblem, "something is left of them", "ralph recover", details...), nil
}
