package web

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"ralph/dag"
	"ralph/internal/inbox"
	"ralph/internal/project"
)

// Line is a command line that was understood.
type Line struct {
	Name  string   // "task reset"
	Flags []string // that were typed, by their long names
	Off   []string // those that were typed as false, and are not in Flags
	Args  []string
	Agent string // that it names, or the command of one
}

// weakening lists the flags with which agents are confined less, or their work is checked less, than the configuration says.
// No one outside may use them unless [serve] allow names them. An agent counts if it is given as a command: that runs programs.
var weakening = []string{"agent", "allow-failing", "in-place", "may-change", "no-verify", "none", "review=false", "sandbox"}

// Weakens refuses a command from outside that has one of these flags, unless it is allowed. known reports whether an agent has
// that name.
func (l Line) Weakens(allow []string, known func(agent string) bool) error {
	for _, flag := range weakening {
		asked := slices.Contains(l.Flags, flag)
		if name, off := strings.CutSuffix(flag, "=false"); off {
			asked = slices.Contains(l.Off, name)
		}
		if flag == "agent" {
			asked = l.Agent != "" && !known(l.Agent)
		}
		if flag = "--" + flag; asked && !slices.Contains(allow, flag) {
			what := flag
			if l.Agent != "" && flag == "--agent" {
				what = fmt.Sprintf("%q is not the name of an agent, and a command for --agent", l.Agent)
			}
			return &Refusal{
				Text: fmt.Sprintf("ralph %s: %s weakens what confines or checks agents, so it cannot be asked for from outside", l.Name, what),
				Hint: fmt.Sprintf("type it where the project is, or allow it there: [serve] allow = [%q] in %s", flag, project.ConfigName), Exit: exitRefused, HTTP: http.StatusForbidden,
			}
		}
	}
	return nil
}

// CheckAllow refuses exceptions that are none.
func CheckAllow(allow []string) error {
	for _, flag := range allow {
		if !strings.HasPrefix(flag, "--") || !slices.Contains(weakening, flag[2:]) {
			return fmt.Errorf("%w: serve.allow: %q is not one of --%s", project.ErrConfig, flag, strings.Join(weakening, ", --"))
		}
	}
	return nil
}

// verb is a command that may be asked for from outside.
type verb struct {
	name    string // "task reset"
	changes bool
	looks   func(Line) bool // it changes nothing if it is typed like that
	confirm string          // what a page asks before it is carried out; empty if nothing is lost by it
	loses   func(Line) bool // it is only asked if it is typed like that
	starts  bool            // it runs in a process of its own
	stays   bool            // it goes on until somebody has seen enough
}

// verbs lists them all. What is not here can only be typed where the project is; here says why.
var verbs = sync.OnceValue(func() []verb {
	return slices.Concat(
		looking(`status, task list, task show, task why, task tree, task graph, task deps list, feature list, feature show,
			feature proof, template list, template show, template check, forecast, inbox list, inbox show, review, report, runs list,
			runs show, logs, cost, stats, journal list, journal search, journal show, knowledge list, knowledge show,
			knowledge search, knowledge lint, permissions log, permissions check, audit, agents, config show, slots list,
			schedule list, schedule next, version`),
		changing(`task add, task import, task update, task unblock, task done, task fail, task accept, task deps add,
			task deps rm, task relate, task unrelate, feature create, feature approve, feature prove, template apply, template new,
			inbox answer, send, pause, resume, knowledge add, agents test`),
		[]verb{
			{name: "task log", changes: true, looks: without("message")},
			{name: "task export", changes: true, looks: without("save")},
			{name: "feature gate", changes: true, looks: every(upTo(1), without("none"))},
			{name: "query", changes: true, looks: upTo(1)},
			{name: "prompt", changes: true, looks: without("eject")},
			{name: "doctor", changes: true, looks: without("fix", "rebuild"), confirm: "With --rebuild the database is made again from the plan files: runs, attempts and costs are only in the old one."},
			{name: "recover", changes: true, looks: with("dry-run"), confirm: "Tasks of runs that died are released, and run again."},
			{name: "gc", changes: true, looks: with("dry-run"), confirm: "Transcripts, logs and temporary files of old runs are deleted."},
			{name: "slots remove", changes: true, confirm: "The copies of the project that no task uses are deleted. The next run makes new ones."},
			{name: "task block", changes: true, loses: with("now"), confirm: "The agent at work on the task ends at once, and what it has not finished is lost."},
			{name: "task reset", changes: true, confirm: "The task runs again from the beginning; its attempts no longer count."},
			{name: "task cancel", changes: true, confirm: "Nobody will work on the task, nor on what is left below it."},
			{name: "task reject", changes: true, confirm: "The work does not land, and goes back to an agent."},
			{name: "task delete", changes: true, confirm: "The task is deleted with its history; what waited for it no longer does."},
			{name: "feature delete", changes: true, confirm: "The feature is deleted with all its tasks and its folder."},
			{name: "knowledge rm", changes: true, confirm: "The entry's file is deleted."},
			{name: "stop", changes: true, confirm: "Agents at work stop after their task; with --now at once, and what they did since is lost."},
			{name: "undo", changes: true, confirm: "The work that landed is taken back by a commit, and the task is open again."},
			{name: "merge", changes: true, confirm: "Finished work lands on the target branch."},
			{name: "pr", changes: true, looks: with("dry-run"), confirm: "The branch is pushed, and a pull request is opened or changed."},
			{name: "run", changes: true, starts: true},
			{name: "schedule run", changes: true, starts: true},
		},
	)
})

func looking(names string) (list []verb) {
	for name := range strings.SplitSeq(names, ",") {
		list = append(list, verb{name: strings.TrimSpace(name)})
	}
	return list
}

func changing(names string) []verb {
	list := looking(names)
	for i := range list {
		list[i].changes = true
	}
	return list
}

func with(flag string) func(Line) bool {
	return func(l Line) bool { return slices.Contains(l.Flags, flag) }
}

func without(flags ...string) func(Line) bool {
	return func(l Line) bool {
		return !slices.ContainsFunc(flags, func(f string) bool { return slices.Contains(l.Flags, f) })
	}
}

func every(a, b func(Line) bool) func(Line) bool { return func(l Line) bool { return a(l) && b(l) } }

func upTo(args int) func(Line) bool { return func(l Line) bool { return len(l.Args) <= args } }

// here are the commands that cannot be asked for, with the reason.
var here = map[string]string{
	"init": "it makes a project out of a folder of that machine", "serve": "it is the server", "demo": "it plays in a folder of its own",
	"watch": "it needs the terminal: use the pages, or logs --follow", "attach": "it needs the terminal: use the page of the attempt, or logs --follow and send",
	"feature spec": theTalk, "feature plan": theTalk, "feature build": theTalk, "task create": theTalk,
	"feature run": "ralph run --feature NAME does the same",
	"config set":  "it changes a file that decides what runs on that machine", "config migrate": "it changes a file of that machine",
	"config trust": "it says that somebody has read what is configured on that machine",
	"agent":        ownStreams, "mcp": ownStreams, "merge-driver": ownStreams, "completion": "it is about this machine", "man": "it is about this machine",
}

const (
	theTalk    = "an agent works on it for minutes, and asks back on the terminal"
	ownStreams = "another program talks to it on stdin and stdout"
)

// Refusal is why a command is not carried out for somebody outside.
type Refusal struct {
	Text, Hint string
	Exit       int // the status of the command
	HTTP       int
}

func (r *Refusal) Error() string { return r.Text }

// Ask says whether a command may be asked for from outside, whether it changes something then, and whether it runs in a process
// of its own, which outlives the server.
func Ask(l Line) (changes, starts bool, err error) {
	v, err := find(l)
	return v.changes, v.starts, err
}

func find(l Line) (verb, error) {
	i := slices.IndexFunc(verbs(), func(v verb) bool { return v.name == l.Name })
	if i < 0 {
		r := &Refusal{Text: fmt.Sprintf("ralph %s cannot be asked for from elsewhere", l.Name), Hint: "type it where the project is", Exit: exitUsage, HTTP: http.StatusForbidden}
		if why := here[l.Name]; why != "" {
			r.Text += ": " + why
		}
		return verb{}, r
	}
	v := verbs()[i]
	v.stays = v.starts || v.name == "query" || !without("follow", "watch")(l)
	if v.looks != nil && v.looks(l) {
		v.changes, v.confirm = false, ""
	}
	if v.loses != nil && !v.loses(l) {
		v.confirm = ""
	}
	return v, nil
}

// allowed finds the verb of a command line. Whatever is asked for, by a page or by the API, comes through here.
func (s *Server) allowed(args []string) (verb, error) {
	l, err := s.opts.Parse(args)
	if err != nil {
		return verb{}, err
	}
	v, err := find(l)
	if err == nil && v.changes && s.guard.ReadOnly {
		err = &Refusal{Text: "this server is read-only", Hint: "it was started with --read-only: type the command where the project is", Exit: exitRefused, HTTP: http.StatusForbidden}
	}
	return v, err
}

// firstWords reads command lines that were made by this package: their words stand first.
func firstWords(args []string) (Line, error) {
	for n := min(len(args), 3); n > 0; n-- {
		name := strings.Join(args[:n], " ")
		if slices.ContainsFunc(verbs(), func(v verb) bool { return v.name == name }) {
			line := Line{Name: name}
			for _, arg := range args[n:] {
				if flag, ok := strings.CutPrefix(arg, "--"); ok && flag != "" {
					flag, _, _ = strings.Cut(flag, "=")
					line.Flags = append(line.Flags, flag)
				} else {
					line.Args = append(line.Args, arg)
				}
			}
			return line, nil
		}
	}
	return Line{Name: strings.Join(args, " ")}, nil
}

// waiting is how many requests wait for an answer, and how much work for a review.
func waiting(g *dag.Graph) (int, error) {
	list, err := inbox.Waiting(g)
	if err != nil {
		return 0, err
	}
	held, err := g.Queue.ToReview()
	return len(list) + len(held), err
}
