package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"ralph/dag"
	"ralph/internal/agents"
	"ralph/internal/event"
	"ralph/internal/project"
	"ralph/internal/render"
	"ralph/internal/report"
	"ralph/internal/seq"
	"ralph/internal/term"
	"ralph/journal"
	"ralph/strategy"
)

// candidate is a word that may follow, and what it stands for.
type candidate struct{ word, text string }

// RunComplete prints a candidate a line, with a tab and a description behind it.
func RunComplete(ctx context.Context, a *App, o PlainOptions) error {
	words, typed := o.Args, ""
	if len(words) > 0 {
		typed, words = words[len(words)-1], words[:len(words)-1]
	}
	words, flag, typed, before := flagAtEnd(words, typed)
	p := &permuter{root: a.Root, at: a.Root, path: []string{"ralph"}}
	if p.walk(words) != nil {
		return nil //nolint:nilerr // half a line is no error while it is being typed
	}
	for _, g := range p.global {
		if dir, ok := strings.CutPrefix(g, "--project="); ok {
			a.Dir = dir
		}
	}
	f, _ := p.find(strings.TrimLeft(flag, "-"))
	if f != nil && f.Value == false {
		f = nil
	}
	if f == nil && flag != "" && (before != "" || p.walk([]string{flag}) != nil) {
		return nil //nolint:nilerr // as above
	}
	var list []candidate
	var err error
	switch {
	case f != nil:
		list, err = a.candidates(ctx, p, "--"+f.Name)
	case strings.HasPrefix(typed, "-"):
		list = seq.Map(p.allFlags(), func(f Flag) candidate { return candidate{"--" + f.Name, strings.ReplaceAll(f.Usage, "`", "")} })
	case len(p.at.Sub) > 0:
		for _, sub := range p.at.Sub {
			if !sub.Hidden {
				list = append(list, candidate{sub.Name, sub.Short})
			}
		}
	default:
		list, err = a.argumentCandidates(ctx, p)
	}
	for _, l := range list {
		if strings.HasPrefix(l.word, typed) {
			fmt.Fprintf(a.Stdout, "%s%s\t%s\n", before, l.word, term.Line(l.text))
		}
	}
	return err
}

// flagAtEnd takes a flag from the end of a line if its value may be what is typed:
// "--flag typed", "--flag=typed", or "--flag", "=", "typed", as bash takes words apart.
// Before is what the shell wants to see before the value.
func flagAtEnd(words []string, typed string) (rest []string, flag, value, before string) {
	if name, value, ok := strings.Cut(typed, "="); ok && strings.HasPrefix(name, "-") {
		return words, name, value, name + "="
	}
	n := len(words)
	switch {
	case typed == "=" && n > 0:
		typed = ""
	case n > 1 && words[n-1] == "=":
		n--
	}
	if n > 0 && strings.HasPrefix(words[n-1], "-") && words[n-1] != "-" && words[n-1] != "--" {
		return words[:n-1], words[n-1], typed, ""
	}
	return words, "", typed, ""
}

// argumentCandidates are for the next argument of a command, by how its usage calls it.
func (a *App) argumentCandidates(ctx context.Context, p *permuter) (list []candidate, err error) {
	fields := strings.Fields(p.at.Args)
	if len(fields) == 0 {
		return nil, nil
	}
	last := fields[len(fields)-1]
	if len(p.rest) >= len(fields) && !strings.Contains(last, "...") {
		return nil, nil
	}
	field := fields[min(len(p.rest), len(fields)-1)]
	for _, name := range strings.Split(strings.Trim(field, "[]."), "|") {
		if name != strings.ToUpper(name) {
			list = append(list, candidate{word: name})
			continue
		}
		more, err := a.candidates(ctx, p, name)
		if err != nil {
			return nil, err
		}
		list = append(list, more...)
	}
	return list, nil
}

// candidates are what an argument or the value of a flag can be.
func (a *App) candidates(ctx context.Context, p *permuter, name string) (list []candidate, err error) {
	switch name {
	case "--status":
		return wordCandidates(StatusWords()), nil
	case "--model-strategy":
		return wordCandidates(strategy.Kinds()), nil
	case "--effort":
		return wordCandidates(dag.Efforts()), nil
	case "--outcome":
		return wordCandidates(event.AttemptOutcomes()), nil
	case "--provider":
		return seq.Map(agents.Own(), func(p agents.Preset) candidate { return candidate{p.Name, p.Title} }), nil
	case "KEY", "VALUE":
		return keyCandidates(p, name), nil
	case "SHELL":
		return wordCandidates([]string{"bash", "zsh", "fish"}), nil
	case "SCHEDULE":
		config, err := ConfigHere(a)
		return seq.Map(config.Schedules, func(s project.ScheduleConfig) candidate { return candidate{s.Name, s.Cron} }), err
	case "--agent", "AGENT":
		config, err := ConfigHere(a)
		finder := a.Finder(config)
		finder.Serves = nil // a key press looks for no server
		return seq.Map(finder.List(), func(d agents.Description) candidate { return candidate{d.Name, d.Title} }), err
	}
	if _, err := a.FindProject(); err != nil {
		return nil, nil //nolint:nilerr // outside a project there is nothing to offer
	}
	err = a.View(ctx, func(_ *Session, g *dag.Graph) (err error) {
		list, err = a.storedCandidates(g, name, slices.Contains(p.local, "--continue=true"))
		return err
	})
	return list, err
}

// keyCandidates are the keys, or the values that the key before can have.
func keyCandidates(p *permuter, name string) (list []candidate) {
	for _, k := range project.Keys() {
		switch {
		case name == "KEY" && k.Offered():
			list = append(list, candidate{k.Name, strings.ReplaceAll(k.Doc, "`", "")})
		case name == "VALUE" && len(p.rest) > 0 && k.Name == p.rest[0]:
			list = append(list, wordCandidates(k.Values())...)
		}
	}
	return list
}

func wordCandidates[T ~string](words []T) []candidate {
	return seq.Map(words, func(w T) candidate { return candidate{word: string(w)} })
}

// offered is how many runs or journal entries are offered, the newest first.
const offered = 50

// storedCandidates are the tasks, runs, features or journal entries of the project, by what a name in a usage, or a flag, means.
func (a *App) storedCandidates(g *dag.Graph, name string, continues bool) (list []candidate, err error) {
	add := func(word, text string) { list = append(list, candidate{word, text}) }
	isTarget := name == "TARGET" && !continues
	if isTarget || slices.Contains([]string{"ID", "BLOCKER", "BLOCKED", "TASK", "--parent", "--task", "--after"}, name) {
		tasks, _ := g.Tasks.List(dag.Filter{}) // an error is that of the transaction
		for _, t := range tasks {
			add(t.ID, string(t.Status)+": "+t.Title)
		}
	}
	switch {
	case isTarget, name == "NAME", name == "--feature":
		features, err := g.Plan.Features()
		for _, f := range features {
			add(f.Name, string(f.Status))
		}
		return list, err
	case name == "TARGET", name == "RUN", name == "--run":
		runs, err := g.History.Runs(offered)
		for _, r := range runs {
			l := report.LineOf(r, nil, Life, a.Now())
			add(r.ID, render.OutcomeWord(l.Outcome)+", "+r.Scope.String()+", began "+r.StartedAt.Local().Format(time.DateTime))
		}
		return list, err
	case name == "N":
		entries, err := journal.List(g.Tx(), journal.Filter{Limit: offered})
		for _, e := range slices.Backward(entries) {
			add(strconv.FormatInt(e.N, 10), string(e.Outcome)+": "+e.Title)
		}
		return list, err
	}
	return list, nil
}
