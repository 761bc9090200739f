package attempt

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"ralph/internal/bounded"
	"ralph/internal/git"
	"ralph/verify"
	"ralph/verify/coverage"
)

// measuring is why gates run once more.
const measuring = "to see which lines it executes"

// measures reports whether it matters which changed lines gates execute.
func (a *attempt) measures() bool {
	if a.evidence.base.Tree == "" || a.job.Accepted || a.work.Accepted {
		return false
	}
	return slices.Contains([]coverage.Mode{coverage.Show, coverage.Ask}, coverage.Mode(a.job.Verify.Coverage))
}

// cover finds out which changed lines of code the gates that accepted the work executed. What they say of the work is settled by then: a
// test may behave otherwise while it is measured, and neither pass nor fail by that.
func (a *attempt) cover(ctx context.Context, taken string) error {
	w := &a.work
	if !a.measures() || w.Refused() {
		return nil
	}
	d, err := a.evidence.difference(ctx, a.evidence.base.Tree, taken)
	if err == nil && d.Cut {
		d, err = a.evidence.trees.Compare(ctx, a.evidence.base.Tree, taken, bounded.Data)
	}
	files := coverage.Measurable(d.Changes)
	if err != nil || len(files) == 0 {
		return err
	}
	profile, unknown, err := a.measure(ctx, files, d.Changes)
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
func (a *attempt) measure(ctx context.Context, files []string, changes []git.Change) (p coverage.Profile, unknown, err error) {
	if p, err = a.written(ctx, files); p != nil || err != nil {
		return p, nil, err
	}
	gates := slices.DeleteFunc(slices.Clone(a.work.Gates), func(g verify.Check) bool { return a.Baselines.silence.Covers(g.Command, files) })
	if len(gates) == 0 {
		return nil, nil, nil
	}
	runner, end, unknown := a.ports.Lane.Copy(ctx, nil) // what they leave must not stay: it was made to be measured
	if unknown == nil {
		p, unknown, err = a.measureIn(ctx, runner, gates, files, changes)
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
	ctx context.Context, runner verify.Gates, gates []verify.Check, files []string, changes []git.Change,
) (all coverage.Profile, unknown, err error) {
	read, end, err := a.evidence.reader()
	if err != nil {
		return nil, nil, err
	}
	defer end()
	all = coverage.Profile{}
	for _, g := range gates {
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
	c, err := coverage.Begin(runner.Temp, cmp.Or(runner.Seen, runner.Dir), files, read)
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
	if err == nil && res.Passed {
		a.Baselines.silence.Note(g.Command, c)
	}
	if lost != "" {
		unknown = fmt.Errorf("%s", lost)
	}
	return p, unknown, err
}

// clearCoverage removes the file that a gate is to write, so that the agent, or an earlier gate, has not written what is there afterwards. A
// file that is part of the work is not removed, and shows nothing.
func (a *attempt) clearCoverage(ctx context.Context, taken string) error {
	file := a.job.Verify.CoverageFile
	a.evidence.cleared = false
	if file == "" || !a.measures() {
		return nil
	}
	tracked, err := a.evidence.trees.Files(ctx, taken)
	if err != nil {
		return err
	}
	if slices.Contains(tracked, path.Clean(file)) {
		a.WarnOnce("coverage\x00"+file, fmt.Sprintf("[verify] coverage_file: %s is part of the project, so no gate wrote it; have git ignore it", file))
		return nil
	}
	a.evidence.cleared, err = a.inRoom(ctx, "rm -f "+quoted(file), io.Discard)
	return err
}

// inRoom runs a command as a gate: what gates wrote may be in a layer over the room.
func (a *attempt) inRoom(ctx context.Context, command string, output io.Writer) (ok bool, err error) {
	runner := a.runner()
	runner.Owner = a.job.Run.Owner
	res, err := runner.Run(ctx, command, output)
	return res.Passed, err
}

// written is what a gate wrote about coverage itself; nil if none did. What is not a file, such as a pipe, might never end.
func (a *attempt) written(ctx context.Context, files []string) (coverage.Profile, error) {
	if !a.evidence.cleared {
		return nil, nil
	}
	var text strings.Builder
	if ok, err := a.inRoom(ctx, "[ -f "+quoted(a.job.Verify.CoverageFile)+" ] && cat < "+quoted(a.job.Verify.CoverageFile), &text); err != nil || !ok {
		return nil, err
	}
	read, end, err := a.evidence.reader()
	if err != nil {
		return nil, err
	}
	defer end()
	runner := a.runner()
	return coverage.File(text.String(), cmp.Or(runner.Seen, runner.Dir), files, read), nil
}

// reader reads files of what is judged.
func (e *evidence) reader() (read coverage.Read, end func(), err error) {
	root, err := e.root()
	if err != nil {
		return nil, nil, err
	}
	read = func(seen string) ([]byte, error) {
		name := e.trees.Name(seen)
		if info, err := root.Lstat(name); err != nil || !info.Mode().IsRegular() || info.Size() > bounded.Text {
			return nil, os.ErrNotExist
		}
		return root.ReadFile(name)
	}
	return read, func() { root.Close() }, nil
}
