package cli

import (
	"strings"
)

// Manual is the page, made from what the commands say of themselves: it cannot tell
// of one that does not exist, and leaves none out.
func (a *App) Manual() string {
	m := &manual{}
	m.line(`.TH RALPH 1 "" "ralph" "User Commands"`, ".SH NAME")
	m.text("ralph - " + a.Root.Short)
	m.line(".SH SYNOPSIS", ".B ralph")
	m.text("[global flags] COMMAND [flags] [arguments]")
	m.line(".SH DESCRIPTION")
	m.text(manIntro)
	m.line(".SH GLOBAL FLAGS")
	m.text("They may stand anywhere.")
	m.flags(a.Root.Flags)
	group := ""
	for _, c := range a.Root.Sub {
		if c.group != group && !c.Hidden {
			group = c.group
			m.line(".SH " + strings.ToUpper(group) + " COMMANDS")
		}
		m.command("ralph", c)
	}
	m.line(".SH EXIT STATUS")
	for _, s := range manStatuses {
		m.entry(s[0], s[1])
	}
	m.line(".SH ENVIRONMENT")
	m.entry("RALPH_KEY", "sets a key of the configuration: RALPH_MAX_COST sets max_cost.")
	m.entry("NO_COLOR", "no colour, if it is not empty.")
	m.entry("GITHUB_ACTIONS, GITHUB_STEP_SUMMARY", "a run writes annotations and the summary of its step.")
	m.line(".SH FILES")
	m.entry(".ralph.toml", "the configuration of a project, in its root.")
	m.entry("~/.config/ralph/config.toml", "that of a user, for all projects.")
	m.entry(".ralph/progress.db", "the graph, its history and its memory.")
	m.entry(".ralph/runs/RUN/", "events, and for each attempt its prompt, transcript, answer and the output of gates.")
	return m.b.String()
}

const manIntro = `Work is planned as tasks that contain and wait for each other, kept in one SQLite file in the project. ` +
	`A run claims the next ready task, starts an agent that speaks the Agent Client Protocol, hands it that one task, ` +
	`checks the result by itself, and moves the task on, until the graph is resolved or a limit is hit.`

var manStatuses = [][2]string{
	{"0", "success; of a run: every task in scope is done"},
	{"1", "refused; of a run: tasks failed"},
	{"2", "a run is blocked: work remains, and none of it can run"},
	{"3", "not found; of a run: there is no task in scope"},
	{"4", "a run reached a limit, or was stopped"},
	{"5", "no usable agent"},
	{"6", "a run did what it was to do, and what landed was not pushed"},
	{"64", "a bad flag, a bad configuration, an ambiguous prefix, or not a project"},
	{"70", "a bug, or the database failed in the middle"},
	{"129, 130, 143", "interrupted by SIGHUP, by Ctrl-C, by SIGTERM"},
}

// manual writes roff.
type manual struct{ b strings.Builder }

func (m *manual) line(list ...string) { m.b.WriteString(strings.Join(list, "\n") + "\n") }

// text is prose; its lines are filled.
func (m *manual) text(s string) {
	for l := range strings.Lines(strings.TrimSpace(s)) {
		m.line(roff(strings.TrimSpace(l)))
	}
}

// verbatim keeps the lines as they are.
func (m *manual) verbatim(s string) {
	m.line(".nf")
	for l := range strings.Lines(strings.TrimSpace(s)) {
		m.line(roff(strings.TrimRight(l, "\n")))
	}
	m.line(".fi")
}

func (m *manual) entry(name, text string) {
	m.line(".TP", ".B "+roff(name))
	m.text(text)
}

func (m *manual) command(parent string, c Command) {
	if c.Hidden {
		return
	}
	full := parent + " " + c.Name
	usage := full + flagsWord(c.Flags)
	if len(c.Sub) > 0 && c.Run == nil {
		usage += " COMMAND"
	}
	m.line(".SS " + roff(strings.TrimSpace(usage+" "+c.Args)))
	m.text(c.Short + ".")
	if c.Long != "" {
		m.line(".PP")
		m.verbatim(c.Long)
	}
	m.flags(c.Flags)
	if len(c.Sub) == 0 {
		m.line(".PP", "Example:", ".RS 4")
		m.verbatim(c.Example)
		m.line(".RE")
	}
	if c.Exits != "" {
		m.line(".PP")
		m.text("Exit status: 0 success, " + strings.ReplaceAll(c.Exits, "\n", " ") + ".")
	}
	for _, sub := range c.Sub {
		m.command(full, sub)
	}
}

func (m *manual) flags(list []Flag) {
	group := ""
	for _, f := range list {
		if f.group != group && f.group != "" {
			m.line(".PP", roff(f.group)+":")
			group = f.group
		}
		names, usage, _ := strings.Cut(f.build().String(), "\t")
		m.entry(strings.TrimSpace(names), usage)
	}
}

// roff escapes text: a backslash, a hyphen that is no hyphenation, and what would be
// a request at the beginning of a line.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(s)
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		s = `\&` + s
	}
	return s
}
