package watch

import (
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"ralph/dag"
	"ralph/internal/event"
	"ralph/internal/git"
	"ralph/internal/inbox"
	"ralph/internal/term"
	_ "ralph/internal/testing/seeded" // property tests draw the same values each time
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// screenOf is a model of that size whose deeds are only noted.
type screenOf struct {
	*model
	wishes []wish
	looks  []dag.Attempt // whose files were asked for
	deeds  []deed
}

func newScreen(width, height int) *screenOf {
	s := &screenOf{model: newModel("shop", term.Palette{}, start)}
	s.poll = func(w wish) tea.Msg { s.wishes = append(s.wishes, w); return nil }
	s.act = func(d deed) tea.Msg { s.deeds = append(s.deeds, d); return nil }
	s.compare = func(a dag.Attempt) tea.Msg { s.looks = append(s.looks, a); return nil }
	s.redact = func(text string) string { return strings.ReplaceAll(text, "hunter2", "***") }
	s.Update(tea.WindowSizeMsg{Width: width, Height: height})
	return s
}

// give gives it news, as if it had asked for them.
func (s *screenOf) give(n news) *screenOf {
	if n.at.IsZero() {
		n.at = start.Add(90 * time.Second)
	}
	if n.detail != nil {
		n.task = n.detail.task
	}
	s.Update(n)
	return s
}

// press presses keys: names of more than one letter stand for themselves.
func (s *screenOf) press(keys ...string) *screenOf {
	special := map[string]rune{
		"up": tea.KeyUp, "down": tea.KeyDown, "left": tea.KeyLeft, "right": tea.KeyRight, "enter": tea.KeyEnter, "esc": tea.KeyEscape,
		"tab": tea.KeyTab, "home": tea.KeyHome, "end": tea.KeyEnd, "pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown, "backspace": tea.KeyBackspace,
	}
	for _, k := range keys {
		msg := tea.KeyPressMsg{Text: k, Code: []rune(k)[0]}
		if code, ok := special[k]; ok {
			msg = tea.KeyPressMsg{Code: code}
		}
		if _, cmd := s.Update(msg); cmd != nil {
			cmd()
		}
	}
	return s
}

// shop is a project in the middle of a run.
func shop() snapshot {
	in, out, cost := int64(12_300), int64(800), 0.12
	total := 1.5
	return snapshot{
		run: dag.Run{ID: "r-31aa8faf", StartedAt: start}, state: running, spent: dag.Usage{Usage: event.Usage{TokensIn: 98_765, CostUSD: &total}},
		tally: dag.Tally{
			ByStatus: map[dag.Status]int{dag.Done: 3, dag.InProgress: 2, dag.Failed: 1, dag.Blocked: 1, dag.Pending: 5},
			Ready:    1, Waiting: 1, NextWait: start.Add(2 * time.Minute),
		},
		tasks: []dag.Outline{
			{N: 1, ID: "t-00000001", Title: "Draw the pages", Status: dag.Done, Children: 2},
			{N: 2, Parent: 1, ID: "t-00000002", Title: "Draw the front page", Status: dag.Done},
			{N: 3, Parent: 1, ID: "t-00000003", Title: "Draw the cart", Status: dag.Done},
			{N: 4, ID: "t-00000004", Title: "Build the cart", Status: dag.Pending, Children: 3},
			{N: 5, Parent: 4, ID: "t-00000005", Title: "Store what is in the cart", Status: dag.InProgress},
			{N: 6, Parent: 4, ID: "t-00000006", Title: "Show what is in the cart", Status: dag.Pending, OpenDeps: 1},
			{N: 7, Parent: 4, ID: "t-00000007", Title: "Empty the cart", Status: dag.Pending},
			{N: 8, ID: "t-00000008", Title: "Write the tests of the check-out, which has more words in its title than fit", Status: dag.InProgress},
			{N: 9, ID: "t-00000009", Title: "Ask the bank", Status: dag.Blocked},
			{N: 10, ID: "t-0000000a", Title: "Measure the speed", Status: dag.Failed},
			{N: 11, ID: "t-0000000b", Title: "Ask the big model", Status: dag.Pending, NotBefore: start.Add(2 * time.Minute), WaitReason: "rate limit"},
			{N: 12, ID: "t-0000000c", Title: "Write the manual", Status: dag.Pending, Paused: true},
		},
		attempts: []dag.Attempt{
			{
				ID: "a-00000001", Run: "r-31aa8faf", Task: "t-00000005", Iteration: 4, Phase: dag.Prompted, Agent: "claude", Model: "sonnet",
				StartedAt: start.Add(18 * time.Second), Usage: event.Usage{TokensIn: in, TokensOut: out, CostUSD: &cost},
			},
			{
				ID: "a-00000002", Run: "r-31aa8faf", Task: "t-00000008", Iteration: 5, Phase: dag.Verifying, Agent: "gemini",
				ModelEffective: "gemini-2.5-pro", StartedAt: start.Add(65 * time.Second),
			},
		},
	}
}

// talk is what the attempt at the cart said.
func talk() *stream {
	return &stream{lines: []string{
		"  prompt  80 lines",
		"  says    I look at how the pages keep what was chosen.",
		"  tool    go test ./cart (execute)",
		"          | --- FAIL: TestCartKeepsItsItems",
		"          | cart_test.go:31: got 0 items, want 2",
		"  says    The items are lost because the session is read before it is opened. I open it first, and I keep the order of the items, which a test wants.",
	}}
}

// changing is the shop, with what the attempt at the cart has changed so far.
func changing(d git.Difference, err error) *screenOf {
	s := working().press("d")
	s.Update(compared{s.looks[0], d, err})
	return s
}

// cart is such a change.
func cart() git.Difference {
	return git.Difference{
		Changes: []git.Change{{Path: "cart/cart.go", Kind: git.Modified, Added: 2, Removed: 1}, {Path: "cart/session.go", Old: "session.go", Kind: git.Renamed}, {Path: "cart.png", Kind: git.Added}},
		Patch: "diff --git a/cart/cart.go b/cart/cart.go\nindex 3f2a1bc..9c1e0aa 100644\n--- a/cart/cart.go\n+++ b/cart/cart.go\n@@ -29,3 +29,4 @@ func items\n" +
			" \ts := session()\n-\treturn s.items\n+\ts.open(\"hunter2\") // the items are lost if the session is read before it is opened, and a test wants their order\n+\treturn s.items\n" +
			"diff --git a/cart.png b/cart.png\nnew file mode 100644\nindex 0000000..9c1e0aa\nBinary files /dev/null and b/cart.png differ\n",
		Cut: true, Left: []git.Left{{Path: "cart.iso", Why: "the file is too large"}},
	}
}

// asked is what agents of the shop ask.
func asked() []inbox.Request {
	question := inbox.Request{
		N: 1, ID: "q-3f2a1bc0", Kind: inbox.Question, Task: "t-00000005", Attempt: "a-00000001", At: start.Add(time.Minute), ExpiresAt: start.Add(72 * time.Hour), Parks: true, State: inbox.Open,
		Text:    "Where is the cart kept?\nThe old shop kept it in the session, which the new one does not have, and nothing says what is to become of carts that exist.",
		Options: []string{"in a cookie", "in the database", "nowhere: drop them"}, Default: "in a cookie",
	}
	credential := inbox.NewCredential("STRIPE_API_KEY", "to try a payment")
	credential.N, credential.ID, credential.Task, credential.At, credential.State = 2, "q-3f2a1bc1", "t-00000008", start, inbox.Open
	permission := inbox.Request{
		N: 3, ID: "q-3f2a1bc2", Kind: inbox.Permission, Task: "t-00000008", At: start.Add(80 * time.Second), State: inbox.Open,
		Text: "May the agent execute: rm -rf build", Options: []string{"yes", "no", "always", "never"},
	}
	return []inbox.Request{question, credential, permission}
}

// asking is the shop when agents ask.
func asking(width, height int) *screenOf {
	snap := shop()
	snap.questions = asked()
	snap.tasks[6].Asks = 1
	return newScreen(width, height).at80().give(news{snap: &snap})
}

// without is the shop where a request is over, and not looked at.
func (s *screenOf) without(id string) *screenOf {
	snap := shop()
	snap.questions = slices.DeleteFunc(asked(), func(r inbox.Request) bool { return r.ID == id })
	return s.give(news{snap: &snap})
}

// elsewhere is the shop where somebody else has answered the first question.
func (s *screenOf) elsewhere() *screenOf {
	snap := shop()
	snap.questions = asked()
	r := &snap.questions[0]
	r.State, r.Answer, r.AnsweredBy, r.AnsweredAt = inbox.Answered, "in a cookie", "ann", start
	return s.give(news{snap: &snap})
}

func working() *screenOf { return newScreen(80, 24).at80() }

// at80 fills a screen with the shop.
func (s *screenOf) at80() *screenOf {
	snap := shop()
	s.give(news{snap: &snap, doing: map[string]string{"a-00000002": "gate go test ./..."}})
	return s.give(news{snap: &snap, detail: &detail{task: "t-00000005", attempt: &snap.attempts[0], attempts: 2}, stream: talk()})
}
