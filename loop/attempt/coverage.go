package attempt

import (
	"context"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"ralph/event"
	"ralph/internal/git"
	"ralph/verify"
	"ralph/verify/coverage"
)

// measuring is why gates run once more.
const measuring = "to see which lines it executes"

// maxMeasured is how much of a patch is searched for changed lines where a verifier is shown less.
const maxMeasured = 64 << 20

// cover finds out which changed lines of code the gates that accepted the work executed. What they say of the work is settled by then: a
// test may behave otherwise while it is measured, and neither pass nor fail by that.
func (a *attempt) cover(ctx context.Context, taken string) error {
	w := &a.work
	mode := coverage.Mode(a.job.Verify.Coverage)
	refused := func(c verify.Check) bool { return c.Verdict() == event.GateFailed }
	if mode != coverage.Show && mode != coverage.Ask || a.evidence.base.Tree == "" || a.job.Accepted || w.Accepted ||
		len(w.Tampering) > 0 || slices.ContainsFunc(w.Gates, refused) {
		return nil
	}
	d, err := a.evidence.difference(ctx, a.evidence.base.Tree, taken)
	if err == nil && d.Cut {
		d, err = a.evidence.trees.Compare(ctx, a.evidence.base.Tree, taken, maxMeasured)
	}
	files := coverage.Measurable(d.Changes)
	if err != nil || len(files) == 0 {
		return err
	}
	profile, unknown, err := a.measure(ctx, taken, files, d.Changes)
	if unknown != nil && err == nil {
		a.doubt("which changed lines the gates execute is not known: " + unknown.Error())
	}
	w.Coverage = coverage.Unexecuted(d.Changes, profile)
	if w.Coverage.TooFew() && !w.WantVerdict {
		a.doubt(w.Coverage.String())
	}
	return err
}

// measure returns what a gate wrote about coverage, if the project names it. Otherwise the gates run once more. Unknown is why nothing
// can be said.
func (a *attempt) measure(ctx context.Context, taken string, files []string, changes []git.Change) (p coverage.Profile, unknown, err error) {
	if p, err = a.written(ctx, taken, files); p != nil || err != nil {
		return p, nil, err
	}
	runner, end, unknown := a.ports.Lane.Copy(ctx, nil) // what they leave must not stay: it was made to be measured
	if unknown == nil {
		p, unknown, err = a.measureIn(ctx, runner, files, changes)
	}
	if e := end(); err == nil {
		err = e
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return p, unknown, err
}

// measureIn runs gates until every changed line was executed.
func (a *attempt) measureIn(
	ctx context.Context, runner verify.Gates, files []string, changes []git.Change,
) (all coverage.Profile, unknown, err error) {
	read, end, err := a.evidence.reader()
	if err != nil {
		return nil, nil, err
	}
	defer end()
	all = coverage.Profile{}
	for _, g := range a.work.Gates {
		if len(all) == len(files) && coverage.Unexecuted(changes, all).Missed == 0 {
			break
		}
		p, unknown, err := a.measureGate(ctx, runner, g, files, read)
		if unknown != nil || err != nil {
			return nil, unknown, err
		}
		all.Merge(p)
	}
	return all, nil, nil
}

func (a *attempt) measureGate(
	ctx context.Context, runner verify.Gates, g verify.Check, files []string, read coverage.Read,
) (p coverage.Profile, unknown, err error) {
	seen := runner.Seen
	if seen == "" {
		seen = runner.Dir
	}
	c, err := coverage.Begin(runner.Temp, seen, files, read)
	if err != nil {
		return nil, err, nil
	}
	defer func() { _ = c.Close() }() // what is left goes with the sandbox
	runner.Env = c.Env(runner.Env)
	res, err := a.gateIn(ctx, runner, g.Command, measuring, a.verifyLog())
	if err != nil {
		return nil, nil, err
	}
	a.gateEnded(verify.Check{Result: res}, measuring)
	if g.Passed && !res.Passed { // it may have ended before it came to some lines
		return nil, fmt.Errorf("gate %q fails while it is measured: %s", g.Command, res.Exit), nil
	}
	p, lost, err := c.End()
	if lost != "" {
		unknown = fmt.Errorf("%s", lost)
	}
	return p, unknown, err
}

// written is what a gate wrote about coverage itself; nil if the project names no such file, or no gate wrote it. A file that is part of
// the work says nothing.
func (a *attempt) written(ctx context.Context, taken string, files []string) (coverage.Profile, error) {
	file := a.job.Verify.CoverageFile
	if file == "" {
		return nil, nil
	}
	tracked, err := a.evidence.trees.Files(ctx, taken)
	if err != nil {
		return nil, err
	}
	if slices.Contains(tracked, path.Clean(file)) {
		a.WarnOnce("coverage\x00"+file, fmt.Sprintf("[verify] coverage_file: %s is part of the project, so no gate wrote it; have git ignore it", file))
		return nil, nil
	}
	var text strings.Builder
	runner := a.runner() // what gates wrote may be in a layer over the room
	runner.Owner = a.job.Run.Owner
	if res, err := runner.Run(ctx, "cat < '"+strings.ReplaceAll(file, "'", `'\''`)+"'", &text); err != nil || !res.Passed {
		return nil, err
	}
	read, end, err := a.evidence.reader()
	if err != nil {
		return nil, err
	}
	defer end()
	root := runner.Seen
	if root == "" {
		root = runner.Dir
	}
	return coverage.File(text.String(), root, files, read), nil
}

// reader reads files of what is judged.
func (e *evidence) reader() (read coverage.Read, end func(), err error) {
	root, err := e.root()
	if err != nil {
		return nil, nil, err
	}
	read = func(seen string) ([]byte, error) {
		name := e.trees.Name(seen)
		if info, err := root.Lstat(name); err != nil || !info.Mode().IsRegular() || info.Size() > maxTestFile {
			return nil, os.ErrNotExist
		}
		return root.ReadFile(name)
	}
	return read, func() { root.Close() }, nil
}
