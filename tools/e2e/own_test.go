package e2e

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestOwnAgents takes the agents that are a part of ralph through everything. It needs nothing but ralph.
func TestOwnAgents(t *testing.T) {
	t.Parallel()
	list, err := chosenOwn(strings.Fields(os.Getenv("RALPH_E2E_AGENTS")))
	check(t, err)
	for _, p := range list {
		t.Run(p.agent, func(t *testing.T) {
			t.Parallel()
			takesAll(t, buildRalph(t), "", p, settings(t)[p.agent])
		})
	}
}

// eachOwn is for each agent that is a part of ralph and not like another.
func eachOwn(t *testing.T, test func(t *testing.T, open func(t *testing.T) *place)) {
	t.Parallel()
	list, err := chosenOwn(strings.Fields(os.Getenv("RALPH_E2E_AGENTS")))
	check(t, err)
	for _, p := range list {
		set := settings(t)[p.agent]
		if set.Like != "" {
			continue
		}
		t.Run(p.agent, func(t *testing.T) {
			t.Parallel()
			test(t, func(t *testing.T) *place { return newPlace(t, buildRalph(t), "", p, set) })
		})
	}
}

// inTurn is a script whose answers come in order, the last one for ever, and whose verifier is content.
func inTurn(answers ...Answer) Script {
	n := 0
	return func(p Prompt) Answer {
		if p.Kind == Verify {
			return Answer{Text: "I have looked at it.\n<verify-pass/>\n"}
		}
		a := answers[min(n, len(answers)-1)]
		n++
		a.Text = strings.ReplaceAll(a.Text, "TASK", p.Task)
		return a
	}
}

// The answers of a task that is done in two steps.
var (
	writes = Answer{Text: "Let me see.", Shell: "echo done > done.txt"}
	isDone = Answer{Text: "All is well.\n<task-done>TASK</task-done>\n"}
)

// always is a fault that is played whenever it is its turn.
func always(f Fault) Answer {
	f.Times = -1
	return Answer{Text: strings.Repeat("Never to be heard. ", 50), Fault: f}
}

// TestEveryFault takes the own agents through whatever can go wrong with a provider.
func TestEveryFault(t *testing.T) {
	for name, tt := range map[string]struct {
		answers  []Answer
		status   int      // of the run
		attempts []string // what became of them
		asked    int      // requests of the agent at work
		says     string   // in what ralph prints
		told     string   // in what the model is told, in the end
	}{
		"429 with Retry-After":        {[]Answer{always(Fault{Status: 429, After: "0"}), writes, isDone}, 0, []string{"done"}, 3, "", ""},
		"429 without Retry-After":     {[]Answer{always(Fault{Status: 429, After: "none"}), writes, isDone}, 0, []string{"done"}, 3, "", ""},
		"429 for an hour":             {[]Answer{always(Fault{Status: 429, After: "3600"})}, 4, []string{"limited"}, 1, "rate", ""},
		"429 for ever":                {[]Answer{always(Fault{Status: 429})}, 4, []string{"limited"}, 4, "rate", ""},
		"529":                         {[]Answer{always(Fault{Status: 529, After: "0"}), writes, isDone}, 0, []string{"done"}, 3, "", ""},
		"529 for ever":                {[]Answer{always(Fault{Status: 529})}, 4, []string{"limited"}, 4, "", ""},
		"500":                         {[]Answer{always(Fault{Status: 500, After: "0"}), writes, isDone}, 0, []string{"done"}, 3, "", ""},
		"500 for ever":                {[]Answer{always(Fault{Status: 500, After: "0"})}, 5, []string{"error"}, 4, "scripted fault (HTTP 500)", ""},
		"400":                         {[]Answer{always(Fault{Status: 400})}, 5, []string{"error"}, 1, "scripted fault (HTTP 400)", ""},
		"401":                         {[]Answer{always(Fault{Status: 401})}, 5, []string{"error"}, 1, "auth required", ""},
		"an unknown model":            {[]Answer{always(Fault{Status: 404})}, 5, []string{"error"}, 1, "scripted fault", ""},
		"a request too long":          {[]Answer{always(Fault{Status: 400, TooLong: true})}, 5, []string{"error"}, 1, "tokens", ""},
		"an answer that breaks off":   {[]Answer{always(Fault{Cut: true}), writes, isDone}, 0, []string{"done"}, 3, "", ""},
		"an error half-way":           {[]Answer{always(Fault{Error: true}), writes, isDone}, 0, []string{"done"}, 3, "", ""},
		"arguments that make no JSON": {[]Answer{{Raw: &Raw{"bash", `{"command": "echo`}}, writes, isDone}, 0, []string{"done"}, 3, "", "JSON"},
		"arguments of another tool":   {[]Answer{{Raw: &Raw{"bash", `{"colour": 7}`}}, writes, isDone}, 0, []string{"done"}, 3, "", "command"},
		"a tool that is not there":    {[]Answer{{Raw: &Raw{"no_such_tool", `{}`}}, writes, isDone}, 0, []string{"done"}, 3, "", "no_such_tool"},
		"an answer of nothing":        {[]Answer{writes, {}, isDone}, 0, []string{"done"}, 3, "", ""},
		"an answer that is too long":  {[]Answer{writes, {Text: "All is w", Short: true}, {Text: "ell.\n<task-done>TASK</task-done>\n"}}, 0, []string{"done"}, 3, "", "All is w"},
	} {
		t.Run(name, func(t *testing.T) {
			eachOwn(t, func(t *testing.T, open func(*testing.T) *place) {
				p := open(t)
				p.server.Play(inTurn(tt.answers...))
				task := strings.TrimSpace(p.want(t, 0, "task", "add", "Work in spite of it").stdout)
				out := p.want(t, tt.status, "run", task, "--json", "--wait", "never", "--idle-timeout", "2m")
				contains(t, out.stdout+out.stderr, tt.says)
				worked := slices.DeleteFunc(p.server.Seen(), func(s Prompt) bool { return s.Kind == Verify })
				if len(worked) != tt.asked {
					t.Errorf("got %d requests, want %d\n%s", len(worked), tt.asked, out.stderr)
				}
				contains(t, worked[len(worked)-1].Body, tt.told)
				if got := p.attempts(t, task); !slices.Equal(got, tt.attempts) {
					t.Errorf("got attempts %v, want %v\n%s", got, tt.attempts, out.stderr)
				}
				if tt.status == 0 {
					contains(t, p.read(t, "done.txt"), "done")
				}
				p.wantScriptPlayed(t)
			})
		})
	}
}

// TestAServerThatIsNotThere: the run ends and says where it looked.
func TestAServerThatIsNotThere(t *testing.T) {
	eachOwn(t, func(t *testing.T, open func(*testing.T) *place) {
		p := open(t)
		check(t, p.server.Listener.Close())
		task := strings.TrimSpace(p.want(t, 0, "task", "add", "Work with nobody").stdout)
		out := p.want(t, 5, "run", task, "--json", "--idle-timeout", "2m")
		contains(t, out.stdout, `"outcome":"agent_unavailable"`, "no server answers at "+p.server.URL)
	})
}

// attempts are what became of those for a task, the first one first.
func (p *place) attempts(t *testing.T, task string) (outcomes []string) {
	t.Helper()
	for _, e := range list[[]struct{ Outcome string }](t, p.want(t, 0, "journal", "list", "--json", "--task", task)) {
		outcomes = append(outcomes, e.Outcome)
	}
	return outcomes
}

// usage is what ralph says that was used.
type usage struct {
	In     int `json:"tokens_in"`
	Cached int `json:"tokens_cached"`
	Out    int `json:"tokens_out"`
}

// TestEveryTokenIsCounted compares what ralph says afterwards with the count of the provider: each task, and all of
// them. What was refused, or broke off, has used nothing.
func TestEveryTokenIsCounted(t *testing.T) {
	eachOwn(t, func(t *testing.T, open func(*testing.T) *place) {
		p := open(t)
		p.server.Play(p.worker)
		p.write(t, p.dir+"/.ralph/plan.jsonl", plan)
		p.want(t, 0, "task", "import", ".ralph/plan.jsonl")
		p.want(t, 1, "run", "--json", "--idle-timeout", "2m")
		p.wantScriptPlayed(t)
		p.wantCounted(t)
	})
}

// TestANarrowWindow has a model that talks a lot go on for so long that old results are cut and old turns summarised,
// time and again. No request is longer than the window, and summaries are counted, too.
func TestANarrowWindow(t *testing.T) {
	eachOwn(t, func(t *testing.T, open func(*testing.T) *place) {
		p := open(t)
		p.server.Narrow(24_000)
		var answers []Answer
		for n := range 40 { // never the same, which would be taken for a loop
			answers = append(answers, Answer{Text: strings.Repeat("I think about it for a long time. ", 100), Shell: fmt.Sprintf("seq %d 2000", n)})
		}
		p.server.Play(inTurn(append(answers, writes, isDone)...))
		task := strings.TrimSpace(p.want(t, 0, "task", "add", "Talk a lot").stdout)
		p.want(t, 0, "run", task, "--idle-timeout", "2m")
		p.wantScriptPlayed(t)
		summaries := 0
		for _, b := range p.server.Bills() {
			if b.Kind == Side {
				summaries++
			}
		}
		if summaries < 2 {
			t.Errorf("got %d summaries", summaries)
		}
		p.wantCounted(t)
	})
}

// wantCounted wants that ralph counts what the provider does.
func (p *place) wantCounted(t *testing.T) {
	t.Helper()
	tasks, all, sides := map[string]usage{}, usage{}, 0
	for _, b := range p.server.Bills() {
		all = all.plus(b.used)
		if b.Kind == Side { // a summary, of which the server does not know whose it is
			sides++
			continue
		}
		tasks[b.Task] = tasks[b.Task].plus(b.used)
	}
	for task, want := range tasks {
		var got usage
		for _, e := range list[[]usage](t, p.want(t, 0, "journal", "list", "--json", "--task", task)) {
			got = got.plus(used(e))
		}
		if got != want && sides == 0 {
			t.Errorf("%s: ralph counts %+v, and the provider %+v", task, got, want)
		}
	}
	if got := list[struct{ Total struct{ Usage usage } }](t, p.want(t, 0, "cost", "--json")).Total.Usage; got != all {
		t.Errorf("ralph counts %+v, and the provider %+v", got, all)
	}
}

func (u usage) plus(v used) usage { return usage{u.In + v.In, u.Cached + v.Cached, u.Out + v.Out} }
