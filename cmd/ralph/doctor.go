package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"ralph/dag"
	"ralph/internal/db"
	"ralph/internal/project"
	"ralph/internal/term"
)

func (a *app) doctorCommand() command {
	return command{
		name: "doctor", short: "check the project and what runs need, and say how to mend it",
		long: `It looks at the database and what is derived in it, at what dead runs have left, at the
agents that are configured (each is started and asked who it is; no model is asked anything), at
git, the sandbox and the disk. A warning is something to know; a problem is something to mend.`,
		flags: []cli.Flag{
			&cli.BoolFlag{DisableDefaultText: true, Name: "fix", Usage: "work out the derived columns anew"},
			&cli.StringFlag{Name: "timeout", Usage: "wait at most `DUR` for each agent to say who it is", Value: "1m"},
			jsonFlag(),
		},
		example: "ralph doctor", exits: "1 there is a problem",
		run: a.runDoctor,
	}
}

// How well a check went.
const (
	levelOK      = "ok"
	levelWarning = "warning" // good to know; a run may still work
	levelProblem = "problem"
)

// finding is the result of one check.
type finding struct {
	Check string   `json:"check"`
	Level string   `json:"level"`
	OK    bool     `json:"ok"` // it is no problem
	Text  string   `json:"text"`
	Found []string `json:"found"`
	Mend  *string  `json:"mend"`
}

// found makes a finding; mend is "" where there is nothing to do.
func found(check, level, text, mend string, details ...string) finding {
	return finding{Check: check, Level: level, OK: level != levelProblem, Text: text, Found: orEmpty(details), Mend: orNil(mend)}
}

func (a *app) runDoctor(c *cli.Context) error {
	if err := noArgs(c); err != nil {
		return err
	}
	var patience project.Duration
	if err := patience.UnmarshalText([]byte(c.String("timeout"))); err != nil {
		return usagef("--timeout: %v", err)
	}
	a.looks = true
	var s *session
	var err error
	a.waitingFor("the database to open", func() { s, err = a.openDamaged(c) })
	if s == nil {
		return err
	}
	var findings []finding
	if err != nil {
		findings = append(findings, foundUnopened(err))
	} else {
		defer s.Close()
		var state []finding
		a.waitingFor("the database to be checked", func() { state, err = a.examineState(c, s) })
		if err != nil {
			return err
		}
		findings = append(findings, state...)
	}
	var left []finding // looked for before what else is done here can add to them
	a.waitingFor("the search for leftovers", func() { left = a.examineLeftovers(c.Context, s) })
	findings = append(findings, a.examineAgents(c, s, patience.Std())...)
	a.waitingFor("git", func() { findings = append(findings, a.examineGit(c.Context, s)) })
	a.waitingFor("the sandbox to start", func() { findings = append(findings, a.examineSandbox(s)) })
	findings = append(findings, examineProcesses(), examineDisk(s))
	findings = append(findings, left...)
	if c.Err() != nil {
		return c.Err()
	}
	if c.Bool("json") {
		err = a.printJSON(findings)
	} else {
		err = a.printFindings(findings)
	}
	for _, f := range findings {
		if err == nil && !f.OK {
			err = fmt.Errorf("doctor: %w: %s", dag.ErrRefused, "there is a problem, as told above")
		}
	}
	return err
}

// silence is how long a step may take before a person wants to know what it waits for.
const silence = 500 * time.Millisecond

// waitingFor does a step, and says what it waits for if it is not over soon.
func (a *app) waitingFor(what string, do func()) {
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		timer := time.NewTimer(silence)
		defer timer.Stop()
		select {
		case <-timer.C:
			a.note("waiting for %s", what)
		case <-over:
		}
	}()
	do()
	close(over)
	<-ended
}

// openDamaged opens the project, as far as that goes: with a session and an error all
// but the database can be looked at.
func (a *app) openDamaged(c *cli.Context) (*session, error) {
	s, err := a.open(c.Context)
	if err == nil || c.Bool("fix") || !errors.As(err, new(*db.Error)) && !errors.Is(err, dag.ErrRefused) {
		return s, err
	}
	p, perr := a.findProject()
	if perr != nil {
		return nil, perr
	}
	config, cerr := a.loadConfig(p.Config())
	if cerr != nil {
		return nil, cerr
	}
	return &session{project: p, config: config}, err
}

// printFindings prints a line a check, and below it what was found and what to do.
func (a *app) printFindings(findings []finding) error {
	p := a.palette()
	paint := map[string]func(string) string{levelOK: p.Green, levelWarning: p.Yellow, levelProblem: p.Red}
	width := 0
	for _, f := range findings {
		width = max(width, len(f.Check))
	}
	var b strings.Builder
	for _, f := range findings {
		fmt.Fprintf(&b, "%s  %-*s  %s\n", paint[f.Level](fmt.Sprintf("%-7s", f.Level)), width, f.Check, term.Line(f.Text))
		more := func(text string) { fmt.Fprintf(&b, "%*s%s\n", 7+2+width+2, "", term.Line(text)) }
		const shown = 10
		for i, text := range f.Found {
			if i == shown {
				more(fmt.Sprintf("and %d more", len(f.Found)-shown))
				break
			}
			more("- " + text)
		}
		if f.Mend != nil {
			more("to do: " + *f.Mend)
		}
	}
	_, err := fmt.Fprint(a.stdout, b.String())
	return err
}
