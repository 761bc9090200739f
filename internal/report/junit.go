package report

import (
	"cmp"
	"crypto/rand"
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"ralph/dag"
	"ralph/internal/event"
	"ralph/internal/human"
	"ralph/internal/plain"
	"ralph/internal/render"
	"ralph/internal/seq"
	"ralph/internal/term"
)

// Bounds of a test case.
const (
	junitMessage = 500
	junitText    = 16 << 10
	junitOutput  = 8 << 10
)

type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Errors   int          `xml:"errors,attr"`
	Time     string       `xml:"time,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name       string      `xml:"name,attr"`
	Tests      int         `xml:"tests,attr"`
	Failures   int         `xml:"failures,attr"`
	Errors     int         `xml:"errors,attr"`
	Skipped    int         `xml:"skipped,attr"`
	Time       string      `xml:"time,attr"`
	Timestamp  string      `xml:"timestamp,attr"`
	Properties []fact      `xml:"properties>property"`
	Cases      []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name      string           `xml:"name,attr"`
	Class     string           `xml:"classname,attr"`
	Time      string           `xml:"time,attr"`
	Failure   *junitNote       `xml:"failure"`
	Reruns    []junitRerun     `xml:"rerunFailure"`
	Flakes    []junitRerun     `xml:"flakyFailure"`
	Skipped   *junitNote       `xml:"skipped"`
	Error     *junitNote       `xml:"error"`
	SystemOut *junitOutputText `xml:"system-out"`
}

type junitNote struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",innerxml"`
}

type junitRerun struct {
	Message string          `xml:"message,attr"`
	Type    string          `xml:"type,attr"`
	Trace   junitOutputText `xml:"stackTrace"`
}

// junitOutputText is text whose lines stay lines.
type junitOutputText struct {
	Text string `xml:",innerxml"`
}

// lines escapes foreign text for XML and keeps its lines; characters that XML does
// not have become visible.
func lines(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(render.Block(s))) // a builder takes everything
	return strings.ReplaceAll(strings.ReplaceAll(b.String(), "&#xA;", "\n"), "&#x9;", "\t")
}

// JUnit writes the run for machines that know tests: a task is a test case. A task
// that was done before the run is not in it; one that could not run is skipped; one
// that was begun and not brought to an end is an error, and so is the run itself if
// it was no success and no task says why. Earlier attempts are written
// as Surefire writes repeated tests.
func JUnit(w io.Writer, r Run) error {
	suite := junitSuite{
		Name: "ralph: " + r.Scope, Time: seconds(r.Duration), Timestamp: r.StartedAt.UTC().Format("2006-01-02T15:04:05"),
		Properties: factsOf("run", r.ID, "outcome", render.Line(r.Outcome), "cost", r.Usage.CostWords(), "tokens", r.Usage.TokenWords(), "gates", human.Some(r.excused(), "excused gate")),
	}
	waits := seq.Index(r.Waits, func(w Wait) string { return w.Task })
	failures := seq.Index(r.Failures, func(f Failure) string { return f.Task })
	for _, t := range r.Tasks {
		if settled := t.dropped() || t.Status == dag.Done; t.Group || settled && !t.Ran() {
			continue
		}
		c := r.junitCase(t, waits, failures)
		suite.Tests++
		switch {
		case c.Failure != nil:
			suite.Failures++
		case c.Error != nil:
			suite.Errors++
		case c.Skipped != nil:
			suite.Skipped++
		}
		suite.Cases = append(suite.Cases, c)
	}
	if c, red := r.junitRun(); red && suite.Failures+suite.Errors == 0 {
		suite.Tests++
		suite.Errors++
		suite.Cases = append(suite.Cases, c)
	}
	all := junitSuites{
		Name: "ralph", Tests: suite.Tests, Failures: suite.Failures, Errors: suite.Errors, Time: suite.Time, Suites: []junitSuite{suite},
	}
	out, err := xml.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	_, err = w.Write(append([]byte(xml.Header), append(out, '\n')...))
	return err
}

// junitRun is the run itself as a test case. It is written when the run was not a
// success and no task says why: a red pipeline must not come with a green report.
func (r Run) junitRun() (c junitCase, red bool) {
	first, rest := head(r.Reason)
	message := strings.TrimSuffix(r.Headline()+": "+first, ": ")
	why := &junitNote{Message: shorten(message, junitMessage), Type: render.Line(r.Outcome), Text: lines(ending(rest, junitText))}
	return junitCase{Name: "ralph run", Class: "ralph", Time: seconds(r.Duration), Error: why}, r.Over() && !r.Green()
}

func (r Run) junitCase(t Task, waits map[string]Wait, failures map[string]Failure) junitCase {
	c := junitCase{Name: fmt.Sprintf("%s (%s)", shorten(t.Title, junitMessage), t.ID), Class: r.class(t)}
	c.Time = seconds(r.took(t))
	var earlier []junitRerun
	for n, i := range t.Attempts {
		a := r.Attempts[i]
		if n < len(t.Attempts)-1 {
			first, rest := head(a.Reason)
			earlier = append(earlier, junitRerun{
				Message: shorten(first, junitMessage), Type: a.State(), Trace: junitOutputText{lines(ending(strings.TrimSpace(first+"\n"+rest), junitText))},
			})
			continue
		}
		if out := r.output(a); out != "" {
			c.SystemOut = &junitOutputText{lines(out)}
		}
	}
	switch t.Status {
	case dag.Done:
		c.Flakes = earlier
	case dag.Failed:
		c.Failure, c.Reruns = junitFailure(t, failures), earlier
	default:
		c.Reruns = earlier
		if t.Ran() && !t.dropped() && !r.waits(t.ID) {
			a := r.Attempts[t.Attempts[len(t.Attempts)-1]]
			first, rest := head(a.Reason)
			message := shorten(strings.TrimSuffix("not brought to an end: "+first, ": "), junitMessage)
			if !a.Ended() {
				message = "it still runs"
			}
			c.Error = &junitNote{Message: message, Type: a.State(), Text: lines(ending(rest, junitText))}
			break
		}
		c.Skipped = &junitNote{Message: shorten(whyNot(t, waits), junitMessage), Type: string(t.Status)}
	}
	return c
}

func junitFailure(t Task, failures map[string]Failure) *junitNote {
	f, known := failures[t.ID]
	if !known {
		return &junitNote{Message: "failed", Type: "failed"}
	}
	kind := "failed"
	if f.Gate != nil {
		kind = "gate"
	}
	text := withSteps(f.Reason+"\n"+ending(f.Detail, junitText), f.Next)
	return &junitNote{Message: shorten(f.Reason, junitMessage), Type: kind, Text: lines(text)}
}

// waits reports whether the work of a task is held, or stands on work that is.
func (r Run) waits(task string) bool {
	of := func(k event.Kept) bool { return k.Task == task }
	return r.Work != nil && (slices.ContainsFunc(r.Work.Review, of) || slices.ContainsFunc(r.Work.Behind, of))
}

func whyNot(t Task, waits map[string]Wait) string {
	if t.Status == event.TaskDeleted {
		return "it was deleted"
	}
	return cmp.Or(waits[t.ID].Why, "the run ended before it was its turn")
}

// class is the feature and the groups that a task is in, as tools expect packages.
func (r Run) class(t Task) string {
	var path []string
	for at, deep := t, 0; at.Parent != "" && deep < 20; deep++ {
		at = r.Task(at.Parent)
		path = append([]string{strings.ReplaceAll(shorten(at.Title, 80), ".", " ")}, path...)
	}
	return strings.Join(append([]string{cmp.Or(t.Feature, "ralph")}, path...), ".")
}

// output is the end of what an attempt left behind, and where the whole of it is.
func (r Run) output(a Attempt) string {
	var b strings.Builder
	for _, e := range a.Evidence {
		if e.Name != "verify.log" && e.Name != "answer.md" {
			continue
		}
		text, err := plain.FileTail(e.Path, junitOutput)
		if err != nil {
			continue
		}
		fmt.Fprintf(&b, "%s\n%s\n", human.Path(e.Path, r.Root), strings.TrimRight(render.Block(text), "\n"))
	}
	return strings.TrimRight(b.String(), "\n")
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }

// Workflow words what a step says to the runner of GitHub Actions, which obeys every line
// that begins with two colons, whoever wrote it.
type Workflow struct {
	token string // while commands are stopped: it lets them be obeyed again
}

// Stop keeps the runner from obeying what agents and gates print.
func (w *Workflow) Stop() string {
	w.token = rand.Text()
	return "::stop-commands::" + w.token + "\n"
}

// Fold returns the lines that begin and end a group of the log. Commands are obeyed
// only for as long as it takes.
func (w *Workflow) Fold(title string) (begin, end string) {
	return w.command("group", escapeData(title)), w.command("endgroup", "")
}

// command is a command to the runner while all others are stopped.
func (w *Workflow) command(name, text string) string {
	return fmt.Sprintf("::%s::\n::%s::%s\n::stop-commands::%s\n", w.token, name, text, w.token)
}

// End lets commands be obeyed again, and annotates what went wrong: people see that above
// the log.
func (w *Workflow) End(r Run) string {
	var b strings.Builder
	if w.token != "" {
		fmt.Fprintf(&b, "::%s::\n", w.token)
		w.token = ""
	}
	for _, note := range annotations(r) {
		fmt.Fprintf(&b, "::error title=%s::%s\n", escapeProperty(note.title), escapeData(note.text))
	}
	return b.String()
}

type annotation struct{ title, text string }

// maxAnnotations is how many of a kind GitHub shows for a step.
const maxAnnotations = 10

// annotationLines is how much of the output of a failed gate an annotation has.
const annotationLines = 2

// annotations are one for each failed task, or one for a run that ended badly.
func annotations(r Run) []annotation {
	var list []annotation
	for i, f := range r.Failures {
		if left := len(r.Failures) - i; len(list) == maxAnnotations-1 && left > 1 {
			list = append(list, annotation{"ralph: " + human.Count(left, "more failed task"), "see them with: ralph report " + r.ID})
			break
		}
		text := f.Reason
		if f.Gate != nil && !strings.Contains(text, f.Gate.Command) {
			text += "\ngate: " + f.Gate.Command + ": " + f.Gate.Exit
		}
		lines, _ := term.Tail(f.Detail, annotationLines)
		text = strings.Join(append([]string{text}, lines...), "\n")
		list = append(list, annotation{"ralph: failed: " + f.Title, withSteps(text, f.Next)})
	}
	if len(list) == 0 && r.Over() && !r.Green() {
		text, _ := render.First(r.Reason)
		list = append(list, annotation{"ralph: " + r.Headline(), withSteps(text, r.Next)})
	}
	return list
}

func withSteps(text string, steps []render.Step) string {
	for _, s := range steps {
		text += "\nnext: " + s.Command + "  # " + s.Why
	}
	return text
}

// Bounds of an annotation; GitHub cuts at 4 KiB.
const (
	maxTitle = 120
	maxData  = 3 << 10
)

// escapeData escapes what a command says, as GitHub wants it.
func escapeData(s string) string {
	s = plain.Cut(strings.TrimSpace(render.Block(s)), maxData)
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
}

// escapeProperty escapes the value of a property of a command.
func escapeProperty(s string) string {
	s = term.Cut(render.Line(s), maxTitle)
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C").Replace(s)
}
