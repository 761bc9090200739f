package configcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"ralph/dag"
	"ralph/internal/cli"
	"ralph/internal/human"
	"ralph/internal/lazyregexp"
	"ralph/internal/project"
	"ralph/internal/seq"
	"ralph/internal/term"
)

// choose decides which agent and which gates a new project has: those that flags say, else those that a person chooses, else those
// that were found. Nothing is written before everything is decided.
func (o initOptions) choose(ctx context.Context, a *cli.App, dir string, found *project.Found) (here foundAgent, err error) {
	asks, known := a.Asks && !o.Yes && !o.JSON && !a.Quiet, true
	switch {
	case o.Agent != nil && isNone(*o.Agent):
		here.Declined = true
	case o.Agent != nil:
		here, known, err = agentNamed(a, *o.Agent)
	case asks:
		here, known, err = askAgent(ctx, a)
	default:
		next, stop := iter.Pull(agentsHere(a))
		here, _ = next()
		stop()
	}
	if err != nil {
		return here, err
	}
	found.Agent, found.Model = here.Name, here.Model
	if !known {
		found.Agent, found.Command = "", here.Name
	}
	switch {
	case len(o.Gate) == 1 && isNone(o.Gate[0]):
		found.Gates = nil
	case slices.ContainsFunc(o.Gate, isNone):
		return here, cli.Usagef("--gate none means that there are no gates; leave out the others, or it")
	case len(o.Gate) > 0:
		found.Gates = o.Gate
		for _, gate := range o.Gate {
			if err := checkGate(gate); err != nil {
				return here, err
			}
		}
	case asks && !isEmpty(dir): // there is nothing yet that could be checked
		found.Gates, err = askGates(ctx, a, dir)
	}
	return here, err
}

func isNone(answer string) bool { return strings.EqualFold(answer, "none") }

func isEmpty(dir string) bool {
	entries, err := os.ReadDir(dir)
	return err == nil && !slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() != ".git" })
}

// askAgent lets a person choose one of the agents that can be used here, or name another.
func askAgent(ctx context.Context, a *cli.App) (chosen foundAgent, known bool, err error) {
	var here []foundAgent
	for f := range agentsHere(a) {
		if !slices.ContainsFunc(here, func(h foundAgent) bool { return cmp.Or(h.Name, h.User) == cmp.Or(f.Name, f.User) }) {
			here = append(here, f)
		}
	}
	q := question{
		title: "Which agent should do the work?", otherwise: "a name, the command that starts an agent, or none",
		rows: seq.Map(here, func(f foundAgent) string { return f.words(f.Name) }),
	}
	if q.enter = "1"; len(here) == 0 {
		q.title, q.enter, q.taken = q.title+" None was found here.", "none", "Enter goes on without one"
		q.otherwise = "a name (ralph agents lists them), or the command that starts an agent"
	}
	known = true
	err = q.ask(ctx, a, func(answer string, numbers []int) (err error) {
		switch {
		case len(numbers) > 1:
			return cli.Usagef("one agent does the work; type one number")
		case len(numbers) == 1:
			chosen = here[numbers[0]-1]
			return nil
		case answer == "none":
			chosen.Declined = len(here) > 0
			return nil
		}
		chosen, known, err = agentNamed(a, answer)
		return err
	})
	return chosen, known, err
}

// askGates lets a person choose among the commands that the project suggests, or type another.
func askGates(ctx context.Context, a *cli.App, dir string) (gates []string, err error) {
	proposed := project.ProposeGates(dir)
	width := 0
	for _, g := range proposed {
		width = max(width, len(g.Command))
	}
	q := question{title: "Which commands check the work? A task is done only when they pass.", otherwise: "one command of your own instead (more go into .ralph.toml), or none", enter: "all", several: true}
	var usable []string
	for i, g := range proposed {
		row := fmt.Sprintf("%-*s  (%s)", width, g.Command, g.From)
		if err := checkTyped(dir, g.Command); err != nil {
			row += "; " + err.Error()
		} else {
			usable = append(usable, strconv.Itoa(i+1))
		}
		q.rows = append(q.rows, row)
	}
	switch {
	case len(proposed) == 0:
		q.title, q.enter, q.taken = q.title+" No file here suggests one.", "none", "Enter goes on without one"
		q.otherwise = "a command (more go into .ralph.toml)"
	case len(usable) == 0:
		q.enter, q.taken = "none", "Enter takes none, because nothing of this is installed"
	case len(usable) < len(proposed):
		q.enter, q.taken = strings.Join(usable, " "), "Enter takes "+human.Series(usable, "and")
	}
	err = q.ask(ctx, a, func(answer string, numbers []int) error {
		switch {
		case answer == "all" && len(proposed) > 0:
			gates = seq.Map(proposed, func(g project.Gate) string { return g.Command })
		case answer == "none":
			gates = nil
		case len(numbers) > 0:
			gates = seq.Map(slices.Compact(slices.Sorted(slices.Values(numbers))), func(n int) string { return proposed[n-1].Command })
		default:
			gates = []string{answer}
			return checkTyped(dir, answer)
		}
		return nil
	})
	return gates, err
}

// checkGate refuses what no configuration can hold, and what checks nothing.
func checkGate(gate string) error {
	switch {
	case strings.TrimSpace(gate) == "":
		return cli.Usagef("a gate is empty")
	case strings.ContainsFunc(gate, func(r rune) bool { return !unicode.IsPrint(r) }):
		return cli.Usagef("%q is no gate: it has characters that cannot be seen", gate)
	case strings.HasPrefix(strings.TrimSpace(gate), "#"):
		return cli.Usagef("%q is a comment to a shell, and checks nothing", gate)
	case !strings.ContainsFunc(gate, unicode.IsLetter):
		return cli.Usagef("%q is no command", gate)
	case startsRalph(gate):
		return cli.Usagef("%q starts ralph itself, which checks no work", gate)
	}
	return nil
}

// startsRalph tells the lines of an example, which somebody pasted, from answers.
func startsRalph(line string) bool { return strings.Fields(line)[0] == "ralph" }

// checkTyped refuses a gate that was mistyped, too: it would be red in every run. Of what is more than a name to a shell, nothing is
// known here.
func checkTyped(dir, gate string) error {
	if err := checkGate(gate); err != nil {
		return err
	}
	first, _, _ := strings.Cut(gate, " ")
	if !shellWord.Get().MatchString(first) || slices.Contains([]string{"cd", "test", "set", "if", "for", "while", "command", "exec"}, first) {
		return nil
	}
	at := first
	if strings.Contains(first, "/") && !filepath.IsAbs(first) {
		at = filepath.Join(dir, first)
	}
	if _, err := exec.LookPath(at); err != nil {
		return cli.Usagef("%s is not installed", first)
	}
	return nil
}

// shellWord is a word that is nothing but a name to a shell.
var shellWord = lazyregexp.New(`^[A-Za-z0-9._+/-]+$`)

// question has numbered answers, and takes others.
type question struct {
	title     string
	rows      []string
	otherwise string // what may be typed instead of a number
	enter     string // what Enter stands for: an answer
	taken     string // how that is said, if not by its name
	several   bool   // more than one number may be typed
}

// ask asks until an answer is taken: what take refuses is said, and asked again. Who leaves changes nothing.
func (q question) ask(ctx context.Context, a *cli.App, take func(answer string, numbers []int) error) error {
	q.show(a)
	choice := q.otherwise
	switch {
	case len(q.rows) > 1 && q.several:
		choice = "their numbers, " + choice
	case len(q.rows) > 1:
		choice = "another number, " + choice
	case len(q.rows) == 1 && q.enter == "none":
		choice = "1, " + choice
	}
	for {
		a.Complain(fmt.Sprintf("%s. Or type %s.", cmp.Or(q.taken, "Enter takes "+q.enter), choice))
		cli.DiscardTyped(a) // before anybody is told to type
		fmt.Fprint(a.Stderr, "> ")
		text, end, err := cli.ReadLine(ctx, a)
		if err != nil || end {
			fmt.Fprintln(a.Stderr)
		}
		switch text = strings.TrimSpace(text); {
		case err != nil:
			a.Complain("nothing was written")
			return err
		case text == "?" && !end:
			q.show(a)
			continue
		case end && text == "":
			return cli.Hint(fmt.Errorf("%w: nothing was written, because the question was not answered", dag.ErrRefused), "to be asked nothing: ralph init --yes")
		}
		answer, numbers, err := q.read(text)
		if err == nil {
			err = take(answer, numbers)
		}
		switch {
		case err == nil:
			fmt.Fprintln(a.Stderr)
			return nil
		case end:
			return err
		case !errors.As(err, new(cli.UsageError)) && cli.HintFor(err) != "":
			a.Complain(term.Line(err.Error()) + "; " + term.Line(cli.HintFor(err)))
		default:
			a.Complain(term.Line(err.Error()))
		}
	}
}

func (q question) show(a *cli.App) {
	a.Complain(q.title)
	for i, row := range q.rows {
		a.Complain(fmt.Sprintf("  %d  %s", i+1, term.Line(row)))
	}
}

// read is what an answer means: a word or a command, or numbers of rows.
func (q question) read(text string) (answer string, numbers []int, err error) {
	switch strings.ToLower(text) {
	case "", "y", "yes":
		text = q.enter
	case "n", "no", "none":
		return "none", nil, nil
	case "all":
		text = "all"
	}
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" ,;", r) }) {
		n, err := strconv.Atoi(word)
		switch {
		case err != nil && len(numbers) > 0:
			return "", nil, cli.Usagef("type numbers, or one command; .ralph.toml can have more")
		case err != nil:
			return text, nil, nil //nolint:nilerr // a word is a command
		case n < 1 || n > len(q.rows):
			return "", nil, cli.Usagef("there is no %d in the list", n)
		}
		numbers = append(numbers, n)
	}
	return text, numbers, nil
}
