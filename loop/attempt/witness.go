package attempt

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"ralph/acp"
	"ralph/dag"
	"ralph/internal/atomicfile"
	"ralph/internal/event"
	"ralph/internal/lazyregexp"
	"ralph/internal/plain"
	"ralph/internal/proof"
	"ralph/internal/redact"
	"ralph/internal/testing/failpoint"
	"ralph/loop/policy"
	"ralph/prompt"
	"ralph/sigils"
	"ralph/strategy"
	"ralph/verify"
)

// ByVerifier has the verifier's agent write the witness of a task.
const ByVerifier = "verifier"

// Why the check of a witness runs.
const (
	witnessBefore = "of a witness, before the work"
	witnessAfter  = "of a witness, with the work"
)

const (
	witnessFile = "witness.json"
	witnessLog  = "witness.log"
	telltale    = 8 // letters of a line that shows the source of a check
)

// witness is a check that another agent than the worker's session wrote before the work, from the task's words alone. It only ever holds
// work: a check without a result is dropped.
type witness struct {
	Of      string   `json:"of"`                // the sum of the words that it was written from
	Dropped string   `json:"dropped,omitempty"` // why it is not used
	File    string   `json:"file,omitempty"`
	Run     string   `json:"run,omitempty"`
	Text    string   `json:"text,omitempty"`
	Tried   bool     `json:"tried,omitempty"` // ralph has seen it fail before the work; no other check is run on work
	Fails   []string `json:"fails,omitempty"` // its tests that failed then
}

// wantsWitness reports whether a witness may speak about the task. It has to lie where the worker cannot read it.
func (a *attempt) wantsWitness() bool {
	if a.job.Verify.Witness == "" || a.job.Place.Secret == "" {
		return false
	}
	return a.job.verifies() && a.job.Task.Kind != dag.Check && a.job.Task.ExpectRed == ""
}

// askWitness has the witness of the task written before the first attempt at it, and runs it on what is there without the work. The answer
// is stored before it is run, and what it says then, so that no later attempt pays for either again. The error is for what must end the attempt.
func (a *attempt) askWitness(ctx context.Context) error {
	if !a.wantsWitness() {
		return nil
	}
	of := a.sumOfWords()
	w, known := a.storedWitness(of)
	switch {
	case w.Tried, w.Dropped != "":
		return nil
	case !known && a.overspent(ctx) != nil:
		return nil
	}
	if err := a.ports.Lane.Show(ctx, a.ports.Lane.Base()); err != nil {
		return err
	}
	var err error
	if !known {
		var set sigils.Set
		if set, err = a.writtenWitness(ctx); err == nil {
			used := a.meter.tell()
			a.note(ctx, dag.Note{Usage: &used}) // it is not paid for again, so it has to be counted now
			w = newWitness(of, set)
			err = a.storeWitness(w)
			failpoint.Hit("after-witness")
		}
	}
	if err == nil && w.Dropped == "" {
		if w, err = a.tryWitness(ctx, w); err == nil && ctx.Err() == nil { // one that was cut short says nothing
			err = a.storeWitness(w)
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	failpoint.Hit("after-check")
	switch {
	case err != nil: // the next attempt may have more luck
		a.warn(a.job.Task.ID, "without a witness: "+err.Error())
	case w.Dropped != "":
		a.warn(a.job.Task.ID, "the witness is dropped: "+w.Dropped)
	}
	return nil
}

// writtenWitness asks in a session that changes nothing and sees the project as it was before the work. Its files are out of the worker's
// reach, too.
func (a *attempt) writtenWitness(ctx context.Context) (set sigils.Set, err error) {
	op := a.opening(filepath.Join(a.job.Place.Secret, a.job.Run.Attempt, "session"), true)
	op.Observe = func(e acp.Event) { // what it does is not the worker's
		switch e.(type) {
		case acp.Warned:
			a.observe(e)
		case acp.UsageSeen:
			a.meter.tell()
		case acp.Text:
			failpoint.Hit("in-witness")
		}
	}
	another := a.job.Agent.Verifier != ""
	if name := a.job.Verify.Witness; name != ByVerifier {
		op.Witness, another = name, name != a.job.Agent.Name
	}
	if a.job.Agent.Choice.Tier != "" { // where no model is named for it: one that is weak does harm
		op.Model = string(strategy.Opus)
	}
	if err := os.MkdirAll(op.Folder, 0o700); err != nil {
		return set, err
	}
	a.tell(event.Event{Type: event.Prompted, Reason: "a witness is to write a check of the task"})
	s, err := a.openReader(ctx, op, another)
	if err != nil {
		return set, err
	}
	t, sources := a.job.Task, a.Documents(a.job.Task)
	ctx, cut := context.WithCancelCause(ctx)
	guarding := a.guard(a.inspectBudgets).Watch(ctx, cut)
	turn, err := s.Prompt(ctx, a.Redact.Text(prompt.Witness(prompt.WitnessInput{
		Task: prompt.Task{ID: t.ID, Title: t.Title, Description: t.Description}, Spec: sources.Spec,
		Proves: proof.Lines(a.job.Proof.Criteria), Gates: a.job.Verify.Gates,
	})))
	cause := context.Cause(ctx)
	cut(nil)
	<-guarding
	set, unread := turn.Scan(sigils.NewScanner(""))
	err = errors.Join(cmp.Or(err, unread), s.Close())
	if err == nil && !turn.Completed() {
		err = cmp.Or(cause, errors.New("its session was cut short"))
	}
	return redact.Deep(a.Redact, set), err
}

// newWitness is what a session wrote, or why it cannot be run.
func newWitness(of string, set sigils.Set) witness {
	said := set.Witness
	w := witness{Of: of, File: path.Clean(said.File), Run: said.Run, Text: unfenced(said.Text)}
	parts := strings.Split(strings.ToLower(w.File), "/")
	switch {
	case said.File == "":
		w.Dropped = "the agent wrote none"
	case !filepath.IsLocal(filepath.FromSlash(w.File)), strings.ContainsAny(w.File, "\\\n\x00"), slices.Contains(parts, ".git"), slices.Contains(parts, ".ralph"):
		w.Dropped = fmt.Sprintf("%q is not a file that a test can be in", said.File)
	}
	return w
}

// unfenced is a text without the code fence around all of it.
func unfenced(text string) string {
	if rest, fenced := strings.CutPrefix(text, "```"); fenced && strings.HasSuffix(rest, "\n```") {
		_, text, _ = strings.Cut(strings.TrimSuffix(rest, "```"), "\n")
	}
	return strings.TrimRight(text, "\n") + "\n"
}

// tryWitness runs a check in the room, which shows the project before the work.
func (a *attempt) tryWitness(ctx context.Context, w witness) (witness, error) {
	runner := a.runner()
	if _, err := os.Lstat(filepath.Join(runner.Dir, filepath.FromSlash(w.File))); err == nil {
		w.Dropped = w.File + " is there already"
		return w, nil
	}
	head := fmt.Sprintf("# a check of %s, written before the work from the task's words alone: %s\n%s\n", a.job.Task.ID, w.File, w.Text)
	if err := os.WriteFile(a.witnessLog(), []byte(head), 0o600); err != nil {
		return w, err
	}
	res, err := a.runWitness(ctx, runner, w, witnessBefore)
	if err == nil {
		w.Tried = true
		w.Fails, w.Dropped = w.before(res)
	}
	return w, err
}

// unloaded is what languages print that look names up while a test runs, where others do not compile. What is printed there without
// the work is none of the worker's doing; with the work, it could be.
var unloaded = lazyregexp.New(`\b(?:ModuleNotFoundError|ImportError|NameError|SyntaxError|ReferenceError|NoMethodError|LoadError|ERR_MODULE_NOT_FOUND)\b|has no attribute|is not a function|Cannot find module`)

// before is which tests of the check fail without the work, by an assertion as far as names show it, or why the check is not used.
func (w witness) before(res verify.Result) (fails []string, dropped string) {
	switch {
	case res.Passed:
		return nil, "it passes before the work"
	case res.Killed:
		return nil, "it did not end before the work: " + res.Exit
	case res.Unstartable:
		return nil, "it could not start: " + res.Exit
	}
	if missing := unloaded.Get().FindString(res.Tail); missing != "" {
		return nil, "before the work it fails without an assertion: " + missing
	}
	for name := range res.Reported.Passed {
		if res.Reported.Fails(name) && wrote(before{words: w.Text}, name) {
			fails = append(fails, name)
		}
	}
	if slices.Sort(fails); len(fails) == 0 {
		return nil, "before the work it does not build or load, or names no test that fails: " + w.hide(firstFailure(res))
	}
	return fails, ""
}

// refutes names what fails with the work by an assertion as it did before; "" if nothing does: then the check passes, or shows nothing.
func (w witness) refutes(res verify.Result) string {
	if res.Passed || res.Killed || res.Unstartable {
		return ""
	}
	for _, name := range w.Fails {
		if res.Reported.Fails(name) {
			return w.File + ": " + name
		}
	}
	return ""
}

// command writes the file, runs the check and removes the file. No commit has it: later sessions read those.
func (w witness) command() string {
	end := "END-" + w.sum()
	file, dir := quoted(w.File), quoted(path.Dir(w.File))
	return fmt.Sprintf("mkdir -p %s && cat > %s <<'%s' || exit 126\n%s%s\n(\n%s\n)\nstatus=$?\nrm -f %s\nexit $status\n", dir, file, end, w.Text, end, w.Run, file)
}

func (w witness) sum() string {
	is := sha256.Sum256([]byte(w.Text))
	return hex.EncodeToString(is[:8])
}

func quoted(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

// hide leaves out of what a check prints the lines of its source, which some runners show.
func (w witness) hide(output string) string {
	var source []string
	for line := range strings.Lines(w.Text) {
		if line = strings.TrimSpace(line); len(line) >= telltale {
			source = append(source, line)
		}
	}
	var kept []string
	for line := range strings.SplitSeq(output, "\n") {
		if slices.ContainsFunc(source, func(of string) bool { return strings.Contains(line, of) }) {
			line = "[a line of the check]"
		}
		kept = append(kept, line)
	}
	return strings.Join(slices.Compact(kept), "\n")
}

// callWitness runs the check of the witness on a candidate that its gates accept. A failure is a doubt: the check may be wrong.
func (a *attempt) callWitness(ctx context.Context) error {
	work := &a.work
	switch {
	case !a.wantsWitness(), a.talk.set.Split:
		return nil
	case work.Unchanged, work.Accepted, work.Refused():
		return nil
	}
	w, _ := a.storedWitness(a.sumOfWords())
	if !w.Tried || w.Dropped != "" {
		return nil
	}
	runner, end, unknown := a.ports.Lane.Copy(ctx, nil)
	var res verify.Result
	if unknown == nil {
		unknown = a.rerun(func() (again bool, err error) {
			res, err = a.runWitness(ctx, runner, w, witnessAfter)
			return w.refutes(res) != "", err
		})
	}
	if err := cmp.Or(end(), context.Cause(ctx)); err != nil {
		return err
	}
	failed := w.refutes(res)
	switch {
	case unknown != nil:
		a.warn(a.job.Task.ID, "the witness is dropped: it cannot be run: "+unknown.Error())
	case failed != "":
		a.refuted(w, failed, res)
	case !res.Passed:
		a.warn(a.job.Task.ID, "the witness is dropped: with the work its tests do not build, load or end: "+w.hide(firstFailure(res)))
	}
	return nil
}

// refuted notes a check of a witness that fails, and the worker's answer to it.
func (a *attempt) refuted(w witness, failed string, res verify.Result) {
	a.evidence.refuted = res.Exit + "\n" + w.hide(res.Tail)
	a.work.Refuted = fmt.Sprintf("a check that another agent wrote from the task's words fails: %s (%s)", failed, res.Exit)
	notes := strings.Split(strings.TrimSpace(a.talk.set.Journal), "\n\n")
	why := fmt.Sprintf("%s; the check and what it prints are in %s", a.work.Refuted, a.witnessLog())
	if says := plain.Excerpt(notes[len(notes)-1]); says != "" {
		why += fmt.Sprintf("; the agent says: %q", says)
	}
	a.hold(verify.Doubt{
		Why: why, File: w.File,
		Patch: "This is not a change, but a check that another agent wrote before the work, from the words of the task and its specification alone. It fails with the work. " +
			"Either the work is wrong, or the check is: it may ask for what the words leave open. If the work is right, copy the sentence of the task that it fulfils and the check reads otherwise.\n" +
			"The agent says: " + cmp.Or(notes[len(notes)-1], "nothing") + "\n$ " + w.Run + "\n" + w.Text + "It prints:\n" + res.Exit + "\n" + res.Tail,
		Words: append(ownWords(a.job.Task), a.Documents(a.job.Task).Spec.Text),
	})
}

// runWitness runs a check once. Its output goes where the worker cannot read it.
func (a *attempt) runWitness(ctx context.Context, runner verify.Gates, w witness, why string) (res verify.Result, err error) {
	file := a.witnessLog()
	log, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return res, err
	}
	defer log.Close()
	shown := a.Redact.Text(w.Run)
	if _, err := log.WriteString("# " + why + ":\n$ " + shown + "\n"); err != nil {
		return res, err
	}
	a.tell(event.Event{Type: event.GateStarted, Gate: &event.Gate{Command: shown}, Reason: why})
	if why == witnessAfter {
		failpoint.Hit("before-check")
	}
	runner.Owner, runner.Redact, runner.Env = a.job.Run.Owner, a.Redact, verify.AskNames(runner.Env)
	res, err = runner.Run(ctx, w.command(), log)
	if err != nil { // whose text has the command
		return res, cmp.Or(errors.Unwrap(err), errors.New("it could not be run"))
	}
	res.Command = shown
	a.cpu += res.CPU
	r := record(verify.Check{Result: res})
	a.tell(event.Event{Type: event.GateEnded, Reason: why, Gate: &event.Gate{Command: shown, Passed: res.Passed, Exit: res.Exit, Verdict: r.Verdict, Tests: res.Tests, Log: file}})
	return res, nil
}

func (a *attempt) witnessLog() string { return filepath.Join(a.job.Place.Secret, witnessLog) }

// sumOfWords changes when the words of the task do.
func (a *attempt) sumOfWords() string {
	t := a.job.Task
	is := sha256.Sum256(fmt.Appendf(nil, "%q", []string{t.Title, t.Description, a.Documents(t).Spec.Text}))
	return hex.EncodeToString(is[:])
}

// storedWitness is what an earlier attempt, or this one, stored. Known is false of one that was written from other words.
func (a *attempt) storedWitness(of string) (w witness, known bool) {
	data, err := os.ReadFile(filepath.Join(a.job.Place.Secret, witnessFile))
	if err == nil {
		err = json.Unmarshal(data, &w)
	}
	if err != nil || w.Of != of {
		return witness{}, false
	}
	return w, true
}

func (a *attempt) storeWitness(w witness) error {
	return atomicfile.WriteJSON(filepath.Join(a.job.Place.Secret, witnessFile), w)
}

// releaseWitness moves what the witness of work that is done said to the files of the attempt: nothing is left to hide.
func (a *attempt) releaseWitness(d policy.Decision) {
	if d.Action != policy.Complete || a.job.Place.Secret == "" {
		return
	}
	if text, err := os.ReadFile(a.witnessLog()); err == nil {
		if err := os.WriteFile(filepath.Join(a.job.Place.Folder, witnessLog), text, 0o600); err != nil {
			a.warn(a.job.Task.ID, "keeping what the witness said: "+err.Error())
			return
		}
	}
	if err := os.RemoveAll(a.job.Place.Secret); err != nil {
		a.warn(a.job.Task.ID, "removing the files of the witness: "+err.Error())
	}
}
