package render

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"ralph/internal/event"
	"ralph/internal/human"
	"ralph/internal/term"
)

// Tone is how something is to be taken; it chooses a sign and a colour.
type Tone int

// The tones.
const (
	Notable Tone = iota // a person may want to look
	Good
	Bad
	Open // not decided yet
)

// Sign is the tone without colours.
func (t Tone) Sign() string { return [...]string{"!", "✓", "✗", "…"}[t] }

// Paint colours text by the tone.
func (t Tone) Paint(p term.Palette, s string) string {
	return [...]func(string) string{p.Yellow, p.Green, p.Red, p.Yellow}[t](s)
}

// Outcome is how a run ended, or how it goes, as a headline.
func Outcome(o event.RunOutcome, failed int) (string, Tone) {
	switch o {
	case event.OutcomeComplete:
		if failed > 0 {
			return "complete, with " + human.Count(failed, "failed task"), Bad
		}
		return "complete", Good
	case event.OutcomeFailure:
		return "failure", Bad
	case event.OutcomeBlocked:
		return "blocked", lookOrBad(failed)
	case event.OutcomeNoPlan:
		return "no tasks to run", lookOrBad(failed)
	case event.OutcomeLimit:
		return "a limit was reached", Notable
	case event.OutcomeStopped:
		return "stopped", Notable
	case event.OutcomeInterrupted:
		return "interrupted", Notable
	case event.OutcomeUnavailable:
		return "no usable agent", Bad
	case event.OutcomeError:
		return "ralph could not continue", Bad
	case event.OutcomeRunning:
		return "still running", Open
	case event.OutcomeDied:
		return "died without reporting an outcome", Bad
	case event.OutcomeNotStarted:
		return "could not start", Bad
	}
	return or(OutcomeWord(o), "ended"), lookOrBad(failed) // of a newer ralph
}

func lookOrBad(failed int) Tone {
	if failed > 0 {
		return Bad
	}
	return Notable
}

// OutcomeWord is the outcome of a run or an attempt in a list.
func OutcomeWord[O event.RunOutcome | event.AttemptOutcome](o O) string {
	return strings.ReplaceAll(Line(o), "_", " ")
}

// Attempt is how an attempt ended. The status of the task decides, if it is known: an
// outcome may be final for the attempt and not for the task.
func Attempt(o event.AttemptOutcome, status event.TaskStatus) (string, Tone) {
	word := or(Line(o), string(event.AttemptReleased))
	final := map[event.AttemptOutcome]event.TaskStatus{event.AttemptDone: event.TaskDone, event.AttemptAlreadyDone: event.TaskDone, event.AttemptFailed: event.TaskFailed}
	status = cmp.Or(status, final[o])
	switch {
	case status == event.TaskDone && o == event.AttemptAlreadyDone:
		return "already done", Good
	case status == event.TaskDone:
		return "done", Good
	case status == event.TaskFailed && o != event.AttemptFailed && o != "":
		return "failed (" + word + ")", Bad
	case status == event.TaskFailed:
		return "failed", Bad
	default:
		return word, Notable
	}
}

// Gate is how a gate ended, and why that does not count as its exit status says.
func Gate(g event.Gate) (result, aside string, tone Tone) {
	result, tone = "passed", Good
	if !g.Passed {
		result, tone = "failed"+inBrackets(Line(g.Exit)), Bad
	}
	switch g.Verdict {
	case event.GateFlaky:
		aside = "; it failed at first: flaky"
	case event.GateExcused:
		aside, tone = "; it fails only with what was allowed", Notable
	case event.GateExpected:
		aside, tone = "; expected to fail", Good
	case event.GateFirstChecks:
		aside, tone = ", with the checks that the feature began with", Bad
	case event.GateFailed:
		tone = Bad
	case event.GatePassed:
	}
	if aside == "" && g.Baseline == event.BaselineRed && g.Passed {
		aside = "; it was red before the work"
	}
	return result, human.Lead("; ", human.Tests(g.Tests, g.TestsBefore)) + aside, tone
}

// Verdict is what the verifying agent said.
func Verdict(v event.Verdict, reason string) (string, Tone) {
	switch v {
	case event.VerdictPass:
		return "the verifier agent accepted the work", Good
	case event.VerdictFail:
		return with("the verifier agent found", or(reason, "a fault")), Bad
	case event.VerdictNone:
	}
	return with("no verdict", reason), Bad
}

// Counts is how far a run came.
func Counts(c event.Counts) string {
	cancelled := ""
	if c.Cancelled > 0 {
		cancelled = fmt.Sprintf("%d cancelled, ", c.Cancelled)
	}
	return fmt.Sprintf("%d done, %d failed, %s%d remaining of %s", c.Done, c.Failed, cancelled, c.Remaining, human.Count(c.Total, "task"))
}

// Took writes milliseconds as events carry them.
func Took(ms int64) string { return human.Span(time.Duration(ms) * time.Millisecond) }

// In is how long something took, for behind its result: " in 3s", or "" if that is unknown.
func In(ms int64) string {
	if ms <= 0 {
		return ""
	}
	return " in " + Took(ms)
}

// Cost is what is known of the cost, or "".
func Cost(u event.Usage) string {
	if u.CostUSD == nil {
		return ""
	}
	return human.Roughly(u.Unknown, u.Estimated) + human.Dollars(*u.CostUSD)
}

// Used lists what is known to be used: tokens, context, cost.
func Used(u *event.Usage) []string {
	if u == nil {
		return nil
	}
	context := ""
	if u.Context > 0 {
		context = human.Tokens(u.Context) + " of context"
	}
	return human.Parts(human.InOut(u.TokensIn, u.TokensCached, u.TokensOut), context, Cost(*u))
}

// Step is a command to type next, and what it is for.
type Step struct {
	Command string `json:"command"`
	Why     string `json:"why"`
}

// Failed is a task that failed and still has.
type Failed struct {
	Task     string
	Title    string
	Reason   string
	Rejected event.Rejection
	Ran      bool // there is something to read about it
}

// Remedy is what to do about rejected work: the one command that helps, and when it does.
func Remedy(r event.Rejection, task string, status event.TaskStatus) (s Step) {
	s.Command, s.Why = r.Remedy(task, status)
	return s
}

// Continue is the command that continues a run with its target, agent and limits; without
// a run it is what starts one.
func Continue(run string) string {
	if run == "" {
		return "ralph run"
	}
	return "ralph run --continue " + run
}

// Next chooses the commands to type after a run, by how it ended, by how many tasks wait for an answer and by what failed.
// More tasks may have failed than are listed. open is a task that was interrupted or waits, "" if none is known.
func Next(run string, o event.RunOutcome, open string, asks int, list []Failed, more bool) []Step {
	steps := next(run, o, open, list, more)
	if asks == 0 {
		return steps
	}
	why := "answer what agents ask: " + human.Count(asks, "task") + " " + map[bool]string{true: "waits", false: "wait"}[asks == 1] + " for it"
	return slices.Concat([]Step{{"ralph inbox", why}}, steps)
}

func next(run string, o event.RunOutcome, open string, list []Failed, more bool) []Step {
	about := func(before, after, why string) []Step {
		if open == "" {
			return nil
		}
		return []Step{{before + open + after, why}}
	}
	again := Step{Continue(run), "continue with the same flags and counters"}
	status := Step{"ralph status", "what is done, what is next, what waits and why"}
	doctor := Step{"ralph doctor", "check the project and its agents"}
	failures := afterFailures(run, list, more)
	switch o {
	case event.OutcomeComplete, event.OutcomeFailure:
		return failures
	case event.OutcomeBlocked:
		return slices.Concat([]Step{status}, about("ralph task why ", "", "what it waits for"), failures, []Step{again})
	case event.OutcomeNoPlan:
		return []Step{{`ralph task add "TITLE"`, "add a task"}, {"ralph task import FILE", "add many at once"}, {"ralph task list --all", "list all tasks"}}
	case event.OutcomeInterrupted:
		return slices.Concat([]Step{again}, about("ralph task log ", " -m TEXT", "give the next attempt guidance first"), []Step{status}, failures)
	case event.OutcomeLimit:
		again.Why = "continue with the same flags and new counters; budgets of tasks, features and the day go on"
		return slices.Concat([]Step{again, status}, failures)
	case event.OutcomeStopped:
		return slices.Concat([]Step{again, status}, failures)
	case event.OutcomeUnavailable:
		return []Step{doctor, again}
	case event.OutcomeRunning:
		return []Step{{"ralph logs -f", "follow it"}, status}
	case event.OutcomeDied:
		return []Step{{again.Command, "recover its tasks and continue"}, doctor}
	case event.OutcomeError, event.OutcomeNotStarted:
	}
	return slices.Concat([]Step{status, doctor}, failures)
}

// maxRemedies is for how many failed tasks what helps is listed.
const maxRemedies = 5

func afterFailures(run string, list []Failed, more bool) []Step {
	if len(list) == 1 && !more {
		return list[0].Next(run)
	}
	var steps []Step
	for _, f := range list[:min(len(list), 1)] {
		steps = append(steps, Step{"ralph logs " + f.Task, "what the agent did in the first that failed"})
	}
	rest := more
	for i, f := range list {
		if rest = rest || !f.settles(); f.settles() && i < maxRemedies {
			steps = append(steps, f.remedy())
		}
	}
	if len(list) == 0 && more {
		steps = append(steps, Step{"ralph task list --status failed", "which tasks failed; ralph task show says of each what helps"})
	}
	if rest || len(list) > maxRemedies {
		steps = append(steps, Step{"ralph task reset --failed && " + Continue(run), "let the failed tasks run again"})
	}
	return steps
}

// Next is what to do about one failed task.
func (f Failed) Next(run string) []Step {
	var steps []Step
	if f.Ran {
		steps = append(steps, Step{"ralph logs " + f.Task, "what the agent did"})
	}
	if f.settles() {
		return append(steps, f.remedy())
	}
	return append(steps, Step{"ralph task log " + f.Task + ` -m "TEXT"`, "give the next attempt guidance"},
		Step{"ralph task reset " + f.Task + " && " + Continue(run), "let it run again"})
}

func (f Failed) remedy() Step { return Remedy(f.Rejected, f.Task, event.TaskFailed) }

// settles says that another attempt like the last would only cost more, and that the remedy is what helps.
func (f Failed) settles() bool {
	command := f.remedy().Command
	return command != "" && command != "ralph task reset "+f.Task
}
