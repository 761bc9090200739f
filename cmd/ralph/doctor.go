package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"ralph/dag"
	"ralph/internal/proc"
	"ralph/internal/term"
)

func (a *app) doctorCommand() command {
	return command{
		name: "doctor", short: "check the database and say how to mend it",
		flags: []cli.Flag{
			&cli.BoolFlag{DisableDefaultText: true, Name: "fix", Usage: "work out the derived columns anew"},
			jsonFlag(),
		},
		example: "ralph doctor", exits: "1 something is wrong",
		run: a.runDoctor,
	}
}

// finding is the result of one check.
type finding struct {
	Check string   `json:"check"`
	OK    bool     `json:"ok"`
	Found []string `json:"found"`
	Mend  *string  `json:"mend"`
}

func (a *app) runDoctor(c *cli.Context) error {
	if err := none(c); err != nil {
		return err
	}
	s, err := a.open(c)
	if err != nil {
		return err
	}
	defer s.Close()
	if c.Bool("fix") {
		var mended int
		err := s.store.Update(c.Context, func(g *dag.Graph) (err error) { mended, err = g.Mend(); return err })
		if err != nil {
			return fmt.Errorf("mend the derived columns: %w", err)
		}
		a.note(c, "%s mended", plural(mended, "task"))
	}
	findings, err := a.examine(c, s)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		if err := a.printJSON(findings); err != nil {
			return err
		}
	} else if err := a.printFindings(c, findings); err != nil {
		return err
	}
	for _, f := range findings {
		if !f.OK {
			return fmt.Errorf("doctor: %w: %s", dag.ErrRefused, "something is wrong, as told above")
		}
	}
	return nil
}

func (a *app) examine(c *cli.Context, s *session) ([]finding, error) {
	var findings []finding
	err := s.store.View(c.Context, func(g *dag.Graph) error {
		file, err := g.Integrity()
		if err != nil {
			return err
		}
		findings = append(findings, diagnose("database file", file, "restore it from a backup, or export what can be read: ralph task export --with-status"))
		derived, err := g.Verify()
		if err != nil {
			return err
		}
		findings = append(findings, diagnose("derived columns", derived, "ralph doctor --fix"))
		stale, err := g.Stale(life)
		if err != nil {
			return err
		}
		var left []dag.Fault
		for _, t := range stale {
			left = append(left, dag.Fault{Task: t.ID, Text: "claimed by a run that has died"})
		}
		findings = append(findings, diagnose("claims", left, "ralph recover"))
		return nil
	})
	findings = append(findings, a.examineSandbox(s))
	findings = append(findings, finding{Check: "process trees; not covered here:", OK: true, Found: orEmpty(proc.Gaps())})
	return findings, err
}

func diagnose(check string, faults []dag.Fault, mend string) finding {
	f := finding{Check: check, OK: len(faults) == 0, Found: []string{}}
	for _, fault := range faults {
		text := fault.Text
		if fault.Task != "" {
			text = fault.Task + ": " + text
		}
		f.Found = append(f.Found, text)
	}
	if !f.OK {
		f.Mend = &mend
	}
	return f
}

func (a *app) printFindings(c *cli.Context, findings []finding) error {
	p := a.palette(c)
	for _, f := range findings {
		word := p.Green("ok   ")
		if !f.OK {
			word = p.Red("wrong")
		}
		if _, err := fmt.Fprintf(a.stdout, "%s  %s\n", word, f.Check); err != nil {
			return err
		}
		const shown = 10
		for i, text := range f.Found {
			if i == shown {
				fmt.Fprintf(a.stdout, "       and %d more\n", len(f.Found)-shown)
				break
			}
			fmt.Fprintf(a.stdout, "       %s\n", term.Line(text))
		}
		if f.Mend != nil {
			fmt.Fprintf(a.stdout, "       mend it with: %s\n", *f.Mend)
		}
	}
	return nil
}
