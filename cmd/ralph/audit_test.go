package main

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ralph/dag"
	"ralph/internal/cli"
	"ralph/internal/db"
	"ralph/internal/inbox"
	"ralph/internal/provenance"
	"ralph/internal/testing/check"
)

// audited are the commands by which a person changes the graph or answers, with what each needs before it: lines of
// commands of which the last is looked at. TASK is a task that is pending, Q a question that is open.
var audited = map[string][]string{
	"task add":       {"task add new"},
	"task import":    {"task import plan.jsonl"},
	"task update":    {"task update TASK --priority 3"},
	"task log":       {"task log TASK -m hello"},
	"task deps add":  {"task deps add TASK OTHER"},
	"task deps rm":   {"task deps add TASK OTHER", "task deps rm TASK OTHER"},
	"task done":      {"task done TASK"},
	"task fail":      {"task fail TASK -r no"},
	"task reset":     {"task fail TASK -r no", "task reset TASK"},
	"task block":     {"task block TASK -r no"},
	"task cancel":    {"task cancel TASK -r no"},
	"task relate":    {"task relate TASK OTHER"},
	"task unrelate":  {"task relate TASK OTHER", "task unrelate TASK OTHER"},
	"task unblock":   {"task block TASK -r no", "task unblock TASK"},
	"task delete":    {"task delete TASK"},
	"feature create": {"feature create billing"},
	"feature gate":   {"feature create billing", "feature gate billing true"},
	"feature delete": {"feature create billing", "feature delete billing --yes"},
	"inbox answer":   {"inbox answer Q blue"},
	"config trust":   {"config trust"},
	"send":           {"send TASK hello"},
	"stop":           {"stop TASK"},
	"pause":          {"pause TASK"},
	"resume":         {"pause TASK", "resume TASK"},
}

// auditedWhole are those that also work without a task.
var auditedWhole = map[string][]string{
	"pause, all": {"pause"}, "resume, all": {"pause", "resume"}, "stop, all": {"stop"}, "send, all": {"send --all hello"},
}

// auditedElsewhere need an agent; a script looks at what they leave in the audit.
var auditedElsewhere = map[string]string{
	"task accept": "accept.txtar", "task reject": "review.txtar", "undo": "undo.txtar", "feature prove": "proof.txtar", "pr": "pr.txtar",
	"template apply": "template.txtar", "schedule run": "schedule_run.txtar", "feature build": "feature_build.txtar", "feature approve": "feature_build.txtar", "feature run": "feature_direct.txtar", "task create": "task_create.txtar",
}

// unaudited change nothing of the graph by a person's word: they look, they have agents work, or they change files.
var unaudited = strings.Fields(`serve task task:export task:list task:show task:tree task:why task:graph task:deps task:deps:list
	template template:list template:show template:check template:new feature feature:spec feature:plan feature:list feature:show feature:proof forecast init run schedule schedule:list schedule:next inbox inbox:list inbox:show review merge demo
	recover prompt query attach status watch report runs runs:list runs:show logs cost stats journal journal:list journal:search journal:show
	knowledge knowledge:list knowledge:show knowledge:search knowledge:add knowledge:rm knowledge:lint permissions permissions:log permissions:check
	audit agent agents agents:test config config:show config:set config:migrate doctor slots slots:list slots:remove gc mcp merge-driver completion man version`)

// TestEveryChangeOfAPersonIsInTheAudit: each command that changes a task or answers leaves one row, which says who did it and
// from where. A new command has to be in one of the lists.
func TestEveryChangeOfAPersonIsInTheAudit(t *testing.T) {
	t.Parallel()
	for name := range visible("", newApp(cli.System{}).Root.Sub) {
		name = name[1:]
		_, here := audited[name]
		_, there := auditedElsewhere[name]
		check.That(t, here || there || slices.Contains(unaudited, strings.ReplaceAll(name, " ", ":")),
			"ralph %s: say in this test whether it changes something by a person's word", name)
	}
	for name, script := range auditedElsewhere {
		check.Contains(t, script, "'"+name+"'", repoFile(t, "cmd/ralph/testdata/script/"+script))
	}
	all := maps.Clone(auditedWhole)
	maps.Copy(all, audited)
	for name, lines := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			task, other := b.add("one"), b.add("other")
			with := strings.NewReplacer("TASK", task, "OTHER", other, "Q", questionOf(t, b, other), "plan.jsonl", filepath.Join(b.dir, "plan.jsonl"))
			check.OK(t, os.WriteFile(filepath.Join(b.dir, "plan.jsonl"), []byte(`{"title":"imported"}`+"\n"), 0o600))
			home := t.TempDir()
			env := func(name string) string { // a person has a home, in which an answer leaves its proof
				if name == "HOME" {
					return home
				}
				return ""
			}
			for _, line := range lines {
				before := b.audit()
				b.runOn(cli.System{Getenv: env, User: func() string { return "ann" }}, 0, strings.Fields(with.Replace(line))...)
				rows := b.audit()[len(before):]
				check.Equal(t, "rows after "+line, 1, len(rows))
				for _, r := range rows {
					check.Equal(t, "who and from where after "+line, []string{"ann", "command line"}, []string{r.Who, r.Via})
					check.That(t, strings.HasPrefix(line, r.Action) && r.Action != "", "%s: it says that the command was %q", line, r.Action)
				}
			}
		})
	}
}

type auditRow struct{ Who, Via, Action string }

func (b *bench) audit() (rows []auditRow) {
	b.t.Helper()
	check.OK(b.t, json.Unmarshal([]byte(b.run(0, "audit", "--json")), &rows))
	return rows
}

// questionOf lets a task ask, and returns the question's ID.
func questionOf(t *testing.T, b *bench, task string) (id string) {
	t.Helper()
	d, err := db.Open(t.Context(), filepath.Join(b.dir, ".ralph", "progress.db"), db.Options{})
	check.OK(t, err)
	defer d.Close()
	now := func() time.Time { return b.now }
	check.OK(t, dag.New(d, dag.Options{Now: now}).Update(t.Context(), func(g *dag.Graph) error {
		run, _ := g.History.StartRun(dag.Scope{}, dag.Process{PID: 1}) // the transaction keeps its first error
		c, _, err := g.Queue.Claim(dag.ClaimOptions{Run: run, Scope: dag.Scope{Task: task}, Lease: time.Minute})
		if err != nil {
			return err
		}
		q, err := inbox.Ask(g, provenance.Store{}, c, inbox.Request{Kind: inbox.Question, Text: "Which?", Parks: true, Run: run.ID})
		id = q.ID
		return errors.Join(err, g.Queue.Release(c, dag.Release{Uncounted: true}), g.History.EndRun(run.ID, "blocked", "", 1))
	}))
	return id
}
