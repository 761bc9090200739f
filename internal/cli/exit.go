package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"ralph/dag"
	"ralph/internal/agents"
	"ralph/internal/agentside"
	"ralph/internal/db"
	"ralph/internal/event"
	"ralph/internal/forge"
	"ralph/internal/git"
	"ralph/internal/permission"
	"ralph/internal/plain"
	"ralph/internal/plansync"
	"ralph/internal/project"
	"ralph/internal/sandbox"
	"ralph/internal/term"
	"ralph/internal/web"
	"ralph/journal"
	"ralph/knowledge"
	"ralph/prompt"
)

// Exit statuses, as docs/cli.md promises them.
const (
	ExitOK          = 0
	ExitRefused     = 1
	exitFailed      = 1 // tasks of a run failed
	ExitBlocked     = 2
	exitNotFound    = 3
	exitStopped     = 4 // a run, by a limit or by ralph stop
	exitUnavailable = 5
	exitUnpushed    = 6
	ExitUsage       = 64
	ExitBug         = 70
)

// UsageError is a command line that makes no sense.
type UsageError struct{ text string }

func (e UsageError) Error() string { return e.text }

// Usagef is an error of the command line.
func Usagef(format string, args ...any) error { return UsageError{fmt.Sprintf(format, args...)} }

// RunEnded is a run that ended other than by success.
type RunEnded struct{ event.Result }

func (e RunEnded) Error() string { return string(e.Outcome) }

// MidRun is an error that ends a run in the middle: for CI, every one of them is a bug.
type MidRun struct{ Err error }

func (e MidRun) Error() string { return e.Err.Error() }

func (e MidRun) Unwrap() error { return e.Err }

// hinted is an error with the command that helps.
type hinted struct {
	error
	hint string
}

func (e hinted) Unwrap() error { return e.error }

// Hint adds the command that helps to an error.
func Hint(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return hinted{err, fmt.Sprintf(format, args...)}
}

// Fail prints an error in one line, with a hint in a second one if there is one,
// and returns the exit status that scripts rely on.
func (a *App) Fail(err error) int {
	if errors.As(err, new(CaughtSignal)) || errors.As(err, new(RunEnded)) || errors.As(err, new(NotAllowed)) || errors.As(err, new(remoteStatus)) { // it was printed
		return ExitStatus(err)
	}
	text := strings.ReplaceAll(err.Error(), dag.ErrRefused.Error()+": ", "")
	lines := []string{text}
	if errors.As(err, new(project.Problems)) {
		lines = strings.Split(text, "\n")
	}
	for i, line := range lines {
		prefix := "ralph: "
		if i > 0 {
			prefix = "  "
		}
		a.Complain(prefix + term.Line(strings.TrimSpace(line)))
	}
	h := HintFor(err)
	if h == "" && a.stored.Load() && errors.As(err, new(OutputError)) {
		h = "it is done and stored, only the answer is missing: do not repeat it"
	}
	if h != "" {
		a.Complain("hint: " + term.Line(h))
	}
	return ExitStatus(err)
}

// ExitStatus is the status of each kind of error, the most telling kind first.
func ExitStatus(err error) int {
	var caught CaughtSignal
	var ended RunEnded
	var refused NotAllowed
	var remote remoteStatus
	var lost remoteError
	var outside *web.Refusal
	switch {
	case errors.As(err, &outside):
		return outside.Exit
	case errors.As(err, &caught):
		return caught.status()
	case errors.As(err, &ended):
		return OutcomeStatus(ended.Result)
	case errors.As(err, &refused):
		return refused.status()
	case errors.As(err, &remote):
		return int(remote)
	case errors.As(err, &lost):
		return lost.status
	case errors.As(err, new(MidRun)):
		return ExitBug
	case errors.As(err, new(Unpushed)):
		return exitUnpushed
	case errors.As(err, new(UsageError)), errors.Is(err, agentside.ErrInput), errors.As(err, new(*agents.DefinitionError)), errors.As(err, new(*prompt.SectionError)),
		errors.Is(err, dag.ErrAmbiguous), errors.As(err, new(*knowledge.AmbiguousError)),
		errors.Is(err, project.ErrNone), errors.Is(err, project.ErrConfig),
		errors.Is(err, sandbox.ErrUnconfined), errors.Is(err, sandbox.ErrExposed), errors.Is(err, sandbox.ErrNoTemp):
		return ExitUsage
	case errors.Is(err, dag.ErrRefused), errors.As(err, new(*db.Error)), errors.As(err, new(OutputError)):
		return ExitRefused
	case errors.Is(err, agents.ErrUnavailable), errors.As(err, new(*forge.Error)):
		return exitUnavailable
	case errors.Is(err, dag.ErrNotFound), errors.Is(err, journal.ErrNotFound), errors.Is(err, knowledge.ErrNotFound):
		return exitNotFound
	default:
		return ExitBug
	}
}

// OutcomeStatus is the status of each outcome of a run.
func OutcomeStatus(out event.Result) int {
	switch out.Outcome {
	case event.OutcomeComplete:
		return min(out.Counts.Failed, exitFailed)
	case event.OutcomeFailure:
		return exitFailed
	case event.OutcomeBlocked:
		return ExitBlocked
	case event.OutcomeNoPlan:
		return exitNotFound
	case event.OutcomeLimit, event.OutcomeStopped:
		return exitStopped
	case event.OutcomeUnavailable:
		return exitUnavailable
	case event.OutcomeInterrupted, event.OutcomeError, event.OutcomeRunning, event.OutcomeDied, event.OutcomeNotStarted:
	}
	return ExitBug // these end with a signal or an error of their own
}

// HintFor is the command that helps, or nothing.
func HintFor(err error) string {
	var h hinted
	var file *db.Error
	var wrong project.Problems
	var unknownAgent *agents.UnknownError
	var missing *dag.MissingError
	var plan *plansync.Error
	var section *prompt.SectionError
	var unusable *forge.Error
	var locked *git.LockError
	var outside *web.Refusal
	switch {
	case errors.As(err, &h):
		return h.hint
	case errors.As(err, &outside):
		return outside.Hint
	case errors.As(err, &plan):
		return planFileHint(plan)
	case errors.As(err, &locked):
		return "look at what it was doing: git status; then type: " + locked.Remedy()
	case errors.As(err, &unusable):
		return forgeHint(unusable)
	case errors.As(err, new(MidRun)):
		return "the next run recovers a task that is still claimed"
	case errors.As(err, &missing) && similarTo(missing) != "":
		return "did you mean: " + similarTo(missing)
	case missing != nil:
		return map[string]string{
			"task":            "see the IDs with: ralph task list --all",
			"run":             "see the IDs with: ralph runs list",
			"request":         "see the IDs with: ralph inbox --all",
			"run or task":     "see them with: ralph runs list, ralph task list --all",
			"feature":         "see the names with: ralph feature list",
			"template":        "see the names with: ralph template list",
			"schedule":        "see the names with: ralph schedule list",
			"feature or task": "see them with: ralph status",
		}[missing.Kind]
	case errors.As(err, &unknownAgent):
		if near := plain.Nearest(unknownAgent.Name, unknownAgent.Known); near != "" {
			return "did you mean: " + near
		}
		return "list the known ones with: ralph agents"
	case errors.As(err, &wrong) && wrong.Suggestion() != "":
		return "did you mean: " + wrong.Suggestion()
	case errors.As(err, &section):
		if near := plain.Nearest(strings.ToLower(section.Name), prompt.SectionNames()); near != "" && section.Fixed == "" {
			return "did you mean: " + near
		}
		return "what can be changed: " + strings.Join(prompt.SectionNames(), ", ")
	case errors.As(err, &file):
		return map[db.Kind]string{
			db.Foreign:  "move that file away, and ralph makes a new one; or make it from the plan files: ralph doctor --rebuild",
			db.Newer:    "use the ralph that wrote it, or a newer one",
			db.Damaged:  "restore it from a backup; or make a new one from the plan files: ralph doctor --rebuild",
			db.Lost:     "restore it from a backup, or make a new one from the plan files: ralph doctor --rebuild; or, to start over, remove what is left: rm " + plain.ShellQuote(file.Path) + "*",
			db.ReadOnly: ".ralph must be a folder that this user can write, and progress.db a file in it",
			db.Full:     "free some space and try again; nothing was changed",
			db.Busy:     "try again; see who uses it with: ralph status",
			db.Replaced: "put it back with: " + RestoreCommand(file.Saved) + "; or start over and remove it: rm " + plain.ShellQuote(file.Saved),
		}[file.Kind]
	case errors.Is(err, sandbox.ErrNoTemp) && !errors.Is(err, syscall.ENOSPC):
		return "create " + plain.ShellQuote(os.TempDir()) + ", or set TMPDIR to a folder that exists and that you can write to"
	}
	for _, known := range hints {
		if errors.Is(err, known.err) {
			return known.hint
		}
	}
	return ""
}

// similarTo is the name that was probably meant, or "".
func similarTo(missing *dag.MissingError) string {
	return plain.Nearest(strings.ToLower(missing.Typed), missing.Known)
}

// hints are for errors that say all by themselves, the most telling one first.
var hints = []struct {
	err  error
	hint string
}{
	{agents.ErrNone, agents.Remedy + "; or try without a model: --agent shell"},
	{agents.ErrUnavailable, "check the command, name another agent with --agent, or try without a model: --agent shell"},
	{dag.ErrNoRun, "start one with: ralph run"},
	{dag.ErrAmbiguous, "type more of the ID"},
	{journal.ErrNotFound, "see the numbers with: ralph journal list"},
	{knowledge.ErrNotFound, "see the titles with: ralph knowledge list"},
	{project.ErrNone, "make one with: ralph init"},
	{syscall.ENOSPC, "free some space and try again"},
}

// RestoreCommand makes a saved database the project's again. The log of the lost one does not
// belong to it.
func RestoreCommand(saved string) string {
	return fmt.Sprintf("cd %s && mkdir -p .ralph && rm -f .ralph/progress.db* && mv %s .ralph/progress.db",
		plain.ShellQuote(filepath.Dir(saved)), filepath.Base(saved))
}

// suggestKey is the hint for an unknown key: the same name in another section, or the
// nearest key.
func suggestKey(typed string) string {
	var keys, sections []string
	for _, s := range (project.Loaded{Config: project.Default()}).Settings() {
		keys = append(keys, s.Key)
		sections = append(sections, s.Key[:strings.LastIndex(s.Key, ".")])
	}
	name := typed[strings.LastIndex(typed, ".")+1:]
	near := plain.Nearest(typed, append(keys, sections...))
	if at := slices.IndexFunc(keys, func(key string) bool { return strings.HasSuffix(key, "."+name) }); near == "" && at >= 0 {
		near = keys[at]
	}
	if near == "" {
		return ""
	}
	return "did you mean: " + near
}

// NotAllowed is the answer of a check that is no success.
type NotAllowed struct{ Answer permission.Answer }

func (e NotAllowed) Error() string { return string(e.Answer) }

func (e NotAllowed) status() int {
	if e.Answer == permission.Ask {
		return ExitBlocked
	}
	return ExitRefused
}

// forgeHint is what helps against trouble with gh, glab or a command.
func forgeHint(e *forge.Error) string {
	switch e.Trouble {
	case forge.Missing:
		return `install it, or say in .ralph.toml what is to be used instead: [pr] forge = "gh", "glab" or "command"`
	case forge.LoggedOut:
		return fmt.Sprintf("log in with: %s auth login", e.Program)
	case forge.Slow:
		return "try again; give it more time with [pr] timeout in .ralph.toml"
	case forge.Limited:
		return "try again later; ralph pr --follow looks less often with [pr] poll in .ralph.toml"
	case forge.Garbage:
		return fmt.Sprintf("update %s, or see what it prints when you type that yourself", e.Program)
	case forge.Refused:
	}
	return "see what it says when you type that yourself; nothing is lost: repeat the command"
}

// Unpushed is a run whose work landed but did not get to the remote.
type Unpushed struct{ Err error }

func (e Unpushed) Error() string { return e.Err.Error() }

func (e Unpushed) Unwrap() error { return e.Err }
