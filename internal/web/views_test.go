package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"ralph/dag"
	"ralph/internal/event"
	"ralph/internal/testing/check"
	"ralph/internal/testing/raced"
	"ralph/journal"
	"ralph/knowledge"
)

func TestPagesOfAnEmptyProject(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.page("/graph", "There are no tasks here")
	s.page("/runs", "There was no run yet")
	s.page("/cost", "Nothing was spent yet", "No attempt has ended yet")
	s.page("/journal", "No iteration has ended yet")
	s.page("/knowledge", "There are no entries yet")
	for _, path := range []string{"/runs/last", "/runs/r-none", "/attempts/a-none", "/attempts/a-none/live", "/runs/r-none/live", "/runs/r-none/report", "/knowledge/none"} {
		status, body := s.get(path)
		check.That(t, status == http.StatusNotFound, "%s: status %d: %s", path, status, body)
	}
}

func TestARunAndItsAttemptAreShown(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	id := s.add(dag.NewTask{Detail: dag.Detail{Title: "Write the parser"}, Feature: ""})
	s.begin()
	c := s.claim()
	dir := c.Attempt + "/transcript.jsonl"
	s.grow(dir, chunk("I begin ")+chunk("with tests.\n")+
		said(`{"sessionUpdate":"agent_thought_chunk","content":{"text":"what is a token?"}}`)+
		said(`{"sessionUpdate":"tool_call","toolCallId":"c1","title":"go test","kind":"execute","status":"pending","rawInput":{"command":"go test ./..."}}`)+
		said(`{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"completed","content":[{"type":"content","content":{"text":"ok hunter2"}},{"type":"diff","path":"parse.go"}]}`))
	s.event(event.Event{Type: event.GateEnded, Attempt: c.Attempt, Task: id, Gate: &event.Gate{Command: "make check", Exit: "status 2"}, Text: "parse.go:3: no"})
	body := s.page("/attempts/"+c.Attempt, "Write the parser", "I begin with tests.", "what is a token?", "go test", "completed", "ok ***", "parse.go", "make check", "parse.go:3: no", "ralph send")
	check.That(t, strings.Count(body, `id="tool-c1"`) == 1, "the tool call is there %d times", strings.Count(body, `id="tool-c1"`))
	check.That(t, !strings.Contains(body, "hunter2"), "a secret is shown")
	s.page("/runs", s.run.ID, "still running")
	s.page("/runs/last", "Write the parser", "make check", "/attempts/"+c.Attempt, "Stop")
	body = s.page("/runs/"+s.run.ID+"/report", "Write the parser", "<title>")
	check.That(t, !strings.Contains(body, "data-live"), "the report is a page of its own")
	s.update(func(g *dag.Graph) error {
		if err := g.Queue.Fail(c, "the gate failed"); err != nil {
			return err
		}
		return journal.Add(g.Tx(), journal.Entry{At: time.Now(), Run: s.run.ID, Attempt: c.Attempt, Iteration: 1, Task: id, Title: "Write the parser", Outcome: "failed", Notes: "Tokens are hard."})
	})
	s.update(func(g *dag.Graph) error { return g.History.EndRun(s.run.ID, event.OutcomeFailure, "a task failed", 1) })
	s.page("/attempts/"+c.Attempt, "failed", "the gate failed")
	s.page("/runs/last", "Continue", "run --continue "+s.run.ID)
	s.page("/journal", "Tokens are hard.")
	s.page("/journal?q=tokens", "Tokens are hard.")
	s.page("/journal?q=unheard", "No iteration matches")
	s.page("/cost?by=day", "1 failed")
	s.page("/cost?forecast=1", "carried out")
	asked := len(s.ran)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/cost?forecast=1", nil)
	check.OK(t, err)
	r.Header.Set("Ralph-State", "another")
	answer, err := s.client.Do(r)
	check.OK(t, err)
	answer.Body.Close()
	check.Equal(t, "forecasts when the page looks again", asked, len(s.ran))
	for _, page := range []string{"2", "184467440737095517", "9223372036854775807", "-1", "x"} {
		s.page("/runs?page=" + page)
	}
	s.page("/graph", "Write the parser", "✗", "/tasks/"+id)
	check.OK(t, os.RemoveAll(filepath.Join(s.root, ".ralph", "runs")))
	s.update(func(g *dag.Graph) error { return g.History.Pruned(s.run.ID) })
	s.server.files.end()
	s.page("/attempts/"+c.Attempt, "was removed by ralph gc")
	s.page("/runs/last", "removed by ralph gc")
}

func TestHostileTextStaysText(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	evil := `<script>alert(1)</script><img src=x onerror=alert(1)>"'` + "`" + `</pre></svg></textarea>javascript:alert(1)`
	quoted, _ := json.Marshal(evil)
	id := s.add(dag.NewTask{Detail: dag.Detail{Title: evil}})
	s.add(dag.NewTask{Detail: dag.Detail{Title: evil}, After: []string{id}})
	s.begin()
	c := s.claim()
	name, text := c.Attempt+"/transcript.jsonl", ""
	for _, kind := range []string{"agent_message_chunk", "agent_thought_chunk"} {
		text += said(fmt.Sprintf(`{"sessionUpdate":%q,"content":{"text":%s}}`, kind, quoted))
	}
	text += said(fmt.Sprintf(`{"sessionUpdate":"tool_call","toolCallId":%[1]s,"title":%[1]s,"kind":%[1]s,"status":%[1]s,"rawInput":{"command":%[1]s},"content":[{"content":{"text":%[1]s}},{"type":"diff","path":%[1]s}]}`, quoted)) +
		said(fmt.Sprintf(`{"sessionUpdate":"plan","entries":[{"content":%[1]s,"status":%[1]s}]}`, quoted)) + fmt.Sprintf(`{"dir":"in","raw":%s}`+"\n", quoted)
	s.grow(name, text)
	s.event(event.Event{Type: event.Warned, Text: evil})
	s.event(event.Event{Type: event.GateEnded, Attempt: c.Attempt, Task: id, Gate: &event.Gate{Command: evil, Exit: evil}, Text: evil})
	_, err := knowledge.Open(s.root).Write(knowledge.Entry{Title: evil, Tags: []string{"x<b>"}, Body: evil + " and more words", Kind: knowledge.Lesson, CreatedAt: time.Now()})
	check.OK(t, err)
	s.update(func(g *dag.Graph) error {
		return journal.Add(g.Tx(), journal.Entry{At: time.Now(), Run: s.run.ID, Attempt: c.Attempt, Task: id, Title: evil, Outcome: "failed", Reason: evil, Notes: evil, Agent: evil, Model: evil})
	})
	bodies := map[string]string{"stream": s.stream("/attempts/"+c.Attempt+"/live", 0, int64(len(text)))}
	for _, path := range []string{"/graph", "/graph?view=whole", "/runs", "/runs/last", "/runs/last/report", "/attempts/" + c.Attempt, "/cost", "/journal", "/knowledge", "/journal?q=" + "%3Cscript%3E"} {
		bodies[path] = s.page(path)
	}
	for path, body := range bodies {
		for _, bad := range []string{"<script>alert", "<img src=x", "href=\"javascript:", "onerror=alert(1)>", " style=\""} {
			if strings.Contains(body, bad) && (bad != ` style="` || path != "/runs/last/report") {
				t.Errorf("%s has %q", path, bad)
			}
		}
	}
}

// TestTenThousandTasksAreALightPage: the whole graph is folded to what can be drawn, and says so.
func TestTenThousandTasksAreALightPage(t *testing.T) {
	t.Parallel()
	raced.Long(t, "how large pages are")
	s := newSite(t)
	var specs []dag.Spec
	for f := range 4 {
		for g := range 50 {
			group := fmt.Sprintf("g-%d-%d", f, g)
			specs = append(specs, dag.Spec{Ref: group, Detail: dag.Detail{Title: fmt.Sprintf("Group %d of feature %d", g, f)}, Feature: fmt.Sprintf("feature-%d", f)})
			for i := range 49 {
				spec := dag.Spec{Ref: fmt.Sprintf("%s-%d", group, i), Detail: dag.Detail{Title: fmt.Sprintf("Task %d of group %d that has quite a long title", i, g)}, Parent: group}
				if i > 0 {
					spec.After = []string{fmt.Sprintf("%s-%d", group, i-1)}
				}
				specs = append(specs, spec)
			}
		}
	}
	s.update(func(g *dag.Graph) error { _, err := g.Plan.Import(specs); return err })
	for path, want := range map[string]string{
		"/graph":                              "of 10000 tasks: what can run next",
		"/graph?view=whole":                   "10000 tasks in 200 boxes: groups are folded",
		"/graph?view=whole&feature=feature-1": "2500 tasks in 50 boxes",
	} {
		body := s.page(path, want)
		check.That(t, len(body) < 300_000, "%s has %d bytes", path, len(body))
		t.Logf("%s: %d bytes", path, len(body))
	}
}

func TestALongOutputIsCutWithANote(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.add(dag.NewTask{Detail: dag.Detail{Title: "Talk"}})
	s.begin()
	c := s.claim()
	s.grow(c.Attempt+"/transcript.jsonl", chunk("before")+said(`{"sessionUpdate":"tool_call","toolCallId":"c","title":"cat","content":[{"content":{"text":"first `+strings.Repeat("y", 10<<20)+` last"}}]}`)+chunk("after"))
	body := s.page("/attempts/"+c.Attempt, "before", "after", "first", "last", "ralph logs --full")
	check.That(t, len(body) < 100_000, "the page has %d bytes", len(body))
}

// TestEarlierPartsOfATranscriptArePagedBackTo: from the end to the beginning, every word is on some page.
func TestEarlierPartsOfATranscriptArePagedBackTo(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.add(dag.NewTask{Detail: dag.Detail{Title: "Talk"}})
	s.begin()
	c := s.claim()
	var text strings.Builder
	const n = 1500
	for i := range n {
		fmt.Fprint(&text, said(fmt.Sprintf(`{"sessionUpdate":"tool_call","toolCallId":"c%d","title":"call %d.","status":"completed"}`, i, i)))
	}
	s.grow(c.Attempt+"/transcript.jsonl", text.String())
	path, seen := "/attempts/"+c.Attempt, map[string]int{}
	earlier := regexp.MustCompile(`href="([^"]*\?before=\d+)"`)
	for pages := 0; path != ""; pages++ {
		body := s.page(path)
		check.That(t, pages < 10 && len(body) < 300_000, "page %d of %d bytes", pages, len(body))
		for _, m := range regexp.MustCompile(`call \d+\.`).FindAllString(body, -1) {
			seen[m]++
		}
		path = ""
		if m := earlier.FindStringSubmatch(body); m != nil {
			path = m[1]
		}
	}
	for i := range n {
		check.That(t, seen[fmt.Sprintf("call %d.", i)] == 1, "call %d is on %d pages", i, seen[fmt.Sprintf("call %d.", i)])
	}
}

func TestKnowledgeIsReadAndFound(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	_, err := knowledge.Open(s.root).Write(knowledge.Entry{Title: "Use the staging/server", Tags: []string{"deploy"}, Body: "It resets every night.", Kind: knowledge.Lesson, CreatedAt: time.Now()})
	check.OK(t, err)
	body := s.page("/knowledge?q=staging", "Use the staging/server")
	href := regexp.MustCompile(`href="(/knowledge/[^"]+)"`).FindStringSubmatch(body)
	check.That(t, href != nil, "the entry is no link:\n%s", body)
	s.page(href[1], "It resets every night.", "#deploy", "knowledge add", "Delete")
	s.page("/knowledge?q=unheard", "No entry matches")
}

// TestWorkOnHeldWorkHasAMark like the work that it waits for.
func TestWorkOnHeldWorkHasAMark(t *testing.T) {
	t.Parallel()
	check.Equal(t, "mark", mark{dag.Standing, "?", "again"}, markOf(dag.Standing))
}
