package watch

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"ralph/dag"
	"ralph/internal/event"
	"ralph/internal/git"
	"ralph/internal/inbox"
	"ralph/internal/testing/check"
)

// TestKeysDoWhatTheySay: what cannot be taken back by the same key asks first, once.
func TestKeysDoWhatTheySay(t *testing.T) {
	t.Parallel()
	mine := dag.Outline{ID: "t-00000005"}
	tests := map[string]struct {
		keys []string
		want []deed
	}{
		"p pauses at once":            {[]string{"p"}, []deed{{verb: pauseOrResume}}},
		"s asks":                      {[]string{"s"}, nil},
		"s and y stops":               {[]string{"s", "y"}, []deed{{verb: stopAfter}}},
		"s and n does not":            {[]string{"s", "n", "y"}, nil},
		"s and Enter does not":        {[]string{"s", "enter"}, nil},
		"S and y stops now":           {[]string{"S", "y"}, []deed{{verb: stopNow}}},
		"x and y skips":               {[]string{"x", "y"}, []deed{{verb: skip, task: mine}}},
		"x and q does not, and stays": {[]string{"x", "q"}, nil},
		"x lifts a block at once":     {[]string{"end", "up", "up", "up", "x"}, []deed{{verb: skip, task: dag.Outline{ID: "t-00000009"}}}},
		"r and y retries":             {[]string{"r", "y"}, []deed{{verb: retry, task: mine}}},
		"P holds a task":              {[]string{"P"}, []deed{{verb: hold, task: mine}}},
		"e asks":                      {[]string{"e"}, nil},
		"e and y ends its agent":      {[]string{"e", "y"}, []deed{{verb: end, task: mine}}},
		"e where no agent is at work": {[]string{"end", "e", "y"}, nil},
		"g says what is typed": {
			[]string{"g", "q", "!", "backspace", " ", "p", "enter"},
			[]deed{{verb: guide, task: mine, text: "q p"}},
		},
		"g and Esc says nothing":                 {[]string{"g", "a", "esc", "enter", "q"}, nil},
		"g and Enter says nothing":               {[]string{"g", " ", "enter"}, nil},
		"i, a number and Enter choose an option": {[]string{"i", "2", "enter"}, []deed{{verb: answer, request: "q-3f2a1bc0", reply: inbox.Reply{Option: 2}}}},
		"i, Enter and words answer": {
			[]string{"i", "enter", "q", "?", "2", "enter"},
			[]deed{{verb: answer, request: "q-3f2a1bc0", reply: inbox.Reply{Text: "q?2"}}},
		},
		"i and d deny, with a reason or without one": {
			[]string{"i", "d", "n", "o", "enter", "d", "backspace", "backspace", "enter"},
			[]deed{
				{verb: answer, request: "q-3f2a1bc0", reply: inbox.Reply{Text: "no", Denied: true}},
				{verb: answer, request: "q-3f2a1bc0", reply: inbox.Reply{Denied: true}},
			},
		},
		"a credential is given as it is typed": {[]string{"i", "down", "enter", "4", "enter"}, []deed{{verb: answer, request: "q-3f2a1bc1", secret: true, reply: inbox.Reply{Text: "4"}}}},
		"a permission":                         {[]string{"i", "end", "3", "enter"}, []deed{{verb: answer, request: "q-3f2a1bc2", reply: inbox.Reply{Option: 3}}}},
		"i and Esc answer nothing":             {[]string{"i", "2", "esc", "enter", "enter", "esc", "q"}, nil},
		"keys of another screen":               {[]string{"?", "p", "enter", "x", "p"}, nil},
	}
	for name, tt := range tests {
		same := cmpopts.IgnoreFields(dag.Outline{}, "N", "Parent", "Title", "Status")
		check.Equal(t, name, tt.want, asking(80, 24).press(tt.keys...).deeds, cmp.AllowUnexported(deed{}), same)
	}
}

func TestGuidanceGoesToWhomItWasMeantFor(t *testing.T) {
	t.Parallel()
	s := working().press("g", "h", "i")
	snap := shop()
	snap.attempts = snap.attempts[1:] // the run goes on to another task
	s.give(news{snap: &snap}).press("enter")
	check.That(t, len(s.deeds) == 1 && s.deeds[0].task.ID == "t-00000005", "got %+v, want the task for which it was typed", s.deeds)
	s.press("g")
	s.Update(tea.PasteMsg{Content: "two\nlines\x1b[31m" + strings.Repeat("x", 2*longest)})
	s.press("enter")
	got := s.deeds[1].text
	check.That(t, strings.HasPrefix(got, "two lines[31mxx") && len(got) <= longest, "got %d bytes: %.40q, want one bounded line", len(got), got)
}

// TestAnAnswerGoesToTheQuestionForWhichItWasTyped, whatever happens to the list meanwhile, and is not lost when it is refused.
func TestAnAnswerGoesToTheQuestionForWhichItWasTyped(t *testing.T) {
	t.Parallel()
	s := asking(80, 24).press("i", "2")
	s.without("q-3f2a1bc0").Update(tea.WindowSizeMsg{Width: 30, Height: 8})
	s.press("enter")
	check.Equal(t, "the question", "q-3f2a1bc0", s.deeds[0].request)

	s = asking(80, 24).press("i", "enter", "o", "k", "enter")
	s.Update(did{err: errors.New("a hook refused it"), request: "q-3f2a1bc0"})
	check.Contains(t, "the screen", "a hook refused it", s.frame())
	check.Contains(t, "what is typed on", "> ok▏", s.press("enter").frame())
	s.press("enter")
	s.Update(did{text: "answered", request: "q-3f2a1bc0"})
	check.Equal(t, "the next one", "q-3f2a1bc1", s.pane.id)
	check.That(t, len(s.pane.typed) == 0, "the answer is still there")

	s = asking(80, 24).press("i").elsewhere()
	check.Contains(t, "the screen", "q-3f2a1bc0 was answered already, by ann at ", s.frame())
	check.That(t, s.press("2", "enter").deeds == nil && !s.pane.typing, "what is over can be answered")
	check.Contains(t, "the badge", "? 2 questions", s.press("esc").frame())
	check.That(t, !strings.Contains(s.press("i").frame(), "answered already"), "what is over is still there")
}

// TestACredentialIsNeverShown, neither while it is typed nor after it was refused.
func TestACredentialIsNeverShown(t *testing.T) {
	t.Parallel()
	s := asking(80, 24).press("i", "down", "enter")
	for _, r := range "s3cr3t" {
		s.press(string(r))
		check.That(t, !strings.Contains(s.frame(), "s3"), "it is shown:\n%s", s.frame())
	}
	s.Update(tea.PasteMsg{Content: "-pasted\n"})
	s.press("enter")
	check.Equal(t, "the value", "s3cr3t-pasted", s.deeds[0].reply.Text)
	check.That(t, len(s.pane.typed) == 0, "it is kept")
	s.press("enter")
	s.Update(tea.PasteMsg{Content: "-----BEGIN\nKEY"})
	check.Contains(t, "the screen", "several lines: ralph inbox answer q-3f2a1bc1 --credential @FILE", s.frame())
	check.That(t, len(s.pane.typed) == 0, "half of it is kept")
}

// TestALongQuestionCanBeReadWhole, with its options, and another one begins at its top.
func TestALongQuestionCanBeReadWhole(t *testing.T) {
	t.Parallel()
	snap := shop()
	snap.questions = asked()
	r := &snap.questions[0]
	r.Text, r.Options = "", nil
	for i := range inbox.MaxText / 12 {
		r.Text += fmt.Sprintf("word%d\n", i)
	}
	for i := range inbox.MaxOptions {
		r.Options = append(r.Options, fmt.Sprintf("choice%d", i))
	}
	s := newScreen(80, 24).give(news{snap: &snap}).press("i")
	seen := map[string]bool{}
	for range 200 {
		for _, word := range strings.Fields(s.frame()) {
			seen[word] = true
		}
		s.press("pgdown")
	}
	for _, word := range append(strings.Fields(r.Text), r.Options...) {
		check.That(t, seen[word], "%s was never seen", word)
	}
	check.Contains(t, "option 20", "Option 20: choice19", s.press("2", "0").frame())
	check.Contains(t, "another one", "to try a payment", s.press("esc", "down").frame())
}

// TestKeysThatCannotDoAnythingSayWhy, and nobody is asked about it first.
func TestKeysThatCannotDoAnythingSayWhy(t *testing.T) {
	t.Parallel()
	for want, tt := range map[string]struct {
		key  string
		edit func(*dag.Outline)
	}{
		" is done: no agent would read it; r resets it":            {"g", func(o *dag.Outline) { o.Status = dag.Done }},
		" is a group, which no agent works on: guide a task in it": {"g", func(o *dag.Outline) { o.Children = 2 }},
		" is done: there is nothing to skip":                       {"x", func(o *dag.Outline) { o.Status = dag.Done }},
		" is failed: there is nothing to skip":                     {"x", func(o *dag.Outline) { o.Status = dag.Failed }},
	} {
		s, snap := working(), shop()
		tt.edit(&snap.tasks[4])
		s.give(news{snap: &snap}).press(tt.key)
		check.Equal(t, "notice", "t-00000005"+want, s.notice)
		s.press("y")
		check.That(t, len(s.deeds) == 0 && s.screen == overview, "%s: got %+v on screen %d, want nothing", want, s.deeds, s.screen)
	}
}

// TestTheSelectionFollowsTheWork until a person moves it, and again when asked to.
func TestTheSelectionFollowsTheWork(t *testing.T) {
	t.Parallel()
	s := working()
	with := func(change func(*snapshot)) string {
		snap := shop()
		change(&snap)
		return s.give(news{snap: &snap}).selected
	}
	check.Equal(t, "the task that runs", "t-00000008", with(func(snap *snapshot) { snap.attempts = snap.attempts[1:] }))
	s.press("enter")
	check.Equal(t, "what is being read", "t-00000008", with(func(snap *snapshot) { snap.attempts = snap.attempts[:1] }))
	s.press("q", "down")
	check.Equal(t, "what was selected by hand", "t-00000009", with(func(*snapshot) {}))
	check.Equal(t, "after f", "t-00000005", s.press("f").selected)
	check.Equal(t, "after tab", "t-00000008", s.press("tab").selected)
	check.Equal(t, "after End", "t-0000000c", s.press("left", "home", "end").selected)
	check.Equal(t, "the neighbour of a task that was deleted", "t-0000000b", with(func(snap *snapshot) { snap.tasks = snap.tasks[:len(snap.tasks)-1] }))
	check.Equal(t, "without tasks", "", with(func(snap *snapshot) { *snap = snapshot{} }))
}

// TestOnlyOneQuestionToTheDatabaseAtATime, and what was selected meanwhile is asked
// for as soon as the answer is there.
func TestOnlyOneQuestionToTheDatabaseAtATime(t *testing.T) {
	t.Parallel()
	s := newScreen(80, 24)
	s.Init()()
	snap := shop()
	s.press("down", "down")
	check.Equal(t, "questions at once", 1, len(s.wishes))
	_, cmd := s.Update(news{at: start, snap: &snap})
	cmd()
	check.That(t, len(s.wishes) == 2 && s.wishes[1].task == "t-00000001", "asked for %+v, want the selected one at once", s.wishes)
	s.Update(did{text: "paused"})
	_, cmd = s.Update(news{at: start, task: "t-00000001"})
	cmd()
	check.That(t, len(s.wishes) == 3 && s.wishes[2].reread, "asked for %+v, want the database to be read after a deed", s.wishes)
	old := tick{s.turn - 1}
	s.Update(news{at: start, task: "t-00000001"})
	_, cmd = s.Update(old)
	check.That(t, cmd == nil, "a tick that was overtaken still asks")
	_, cmd = s.Update(tick{s.turn})
	check.That(t, cmd != nil, "the tick does not ask")
}

// TestWhatWasAskedForIsDoneBeforeTheViewEnds, unless a person insists.
func TestWhatWasAskedForIsDoneBeforeTheViewEnds(t *testing.T) {
	t.Parallel()
	quits := func(s *screenOf, msg tea.Msg) bool {
		_, cmd := s.Update(msg)
		if cmd == nil {
			return false
		}
		_, quit := cmd().(tea.QuitMsg)
		return quit
	}
	q := tea.KeyPressMsg{Text: "q", Code: 'q'}
	s := working().press("p")
	check.That(t, !quits(s, q), "it left in the middle of a deed")
	check.That(t, quits(s, did{text: "paused"}), "it did not leave after the deed")
	s = working().press("p")
	check.That(t, !quits(s, q) && quits(s, q), "it did not leave when asked again")
	check.That(t, quits(working(), q), "it did not leave")
}

// TestFilesAreLookedAtWhileAPersonLooks: once for each tick of the screen with the diff, never from another one, and not again once the
// attempt has ended.
func TestFilesAreLookedAtWhileAPersonLooks(t *testing.T) {
	t.Parallel()
	s := working().press("d", "q", "d") // an answer is under way
	check.Equal(t, "looks", 1, len(s.looks))
	look := func(msg tea.Msg) int {
		before := len(s.looks)
		if _, cmd := s.Update(msg); cmd != nil && s.diff.asked {
			cmd()
		}
		return len(s.looks) - before
	}
	check.Equal(t, "looks after an answer", 0, look(compared{attempt: s.looks[0]}))
	check.Equal(t, "looks at an old tick", 0, look(diffTick{s.diff.turn - 1}))
	check.Equal(t, "looks at a tick", 1, look(diffTick{s.diff.turn}))
	look(compared{attempt: s.looks[0], Difference: cart()})
	s.press("down", "down", "down")
	look(diffTick{s.diff.turn})
	look(compared{attempt: s.looks[0], Difference: cart()})
	check.Equal(t, "the line on top", 3, s.diff.top)
	ended := s.looks[0]
	ended.EndedAt = start
	s.give(news{detail: &detail{task: "t-00000005", attempt: &ended, attempts: 2}})
	check.Equal(t, "looks when it has ended", 1, look(diffTick{s.diff.turn}))
	look(compared{attempt: ended})
	check.Equal(t, "looks after that", 0, look(diffTick{s.diff.turn}))
	s.press("q")
	check.Equal(t, "looks from another screen", 0, look(diffTick{s.diff.turn}))
}

// TestNothingLeavesTheScreen: whatever is known, typed and said, a frame has its
// size, and nothing in it can do anything to a terminal.
func TestNothingLeavesTheScreen(t *testing.T) {
	t.Parallel()
	evil := []string{"plain", "\x1b[31mred\x1b[0m\x1b]0;title\a", "\u202eright to left\u2066", "日本語のとても長い題名", "a\tb\r\nc", strings.Repeat("long ", 200), "\xff\xfe", "👩‍👩‍👧‍👦 family 👍🏽 🇩🇪 ☎️", "Z\u0301\u0302\u0303algo", ""}
	keys := []string{"up", "down", "left", "right", "enter", "esc", "tab", "home", "end", "pgup", "pgdown", "?", "g", "x", "r", "s", "p", "f", "P", "q", "y", "k", "日", "i", "i", "2", "d"}
	statuses := dag.Statuses()
	rapid.Check(t, func(t *rapid.T) {
		text := func(name string) string { return rapid.SampledFrom(evil).Draw(t, name) }
		s := newScreen(rapid.IntRange(0, 140).Draw(t, "width"), rapid.IntRange(0, 45).Draw(t, "height"))
		s.palette.On = rapid.Bool().Draw(t, "colour")
		s.name = text("name")
		for range rapid.IntRange(1, 8).Draw(t, "steps") {
			switch rapid.IntRange(0, 4).Draw(t, "step") {
			case 0:
				snap := snapshot{run: dag.Run{ID: "r-1", Outcome: event.RunOutcome(text("outcome")), Reason: text("reason"), StartedAt: start}}
				snap.state = rapid.SampledFrom([]state{none, running, stopping, died, ended}).Draw(t, "state")
				for i := range rapid.IntRange(0, 20).Draw(t, "tasks") {
					o := dag.Outline{N: int64(i + 1), Parent: int64(rapid.IntRange(0, i).Draw(t, "parent")), ID: fmt.Sprintf("t-%08x", i), Title: text("title"), Status: rapid.SampledFrom(statuses).Draw(t, "status")}
					snap.tasks = append(snap.tasks, o)
					if o.Parent > 0 {
						snap.tasks[o.Parent-1].Children++
					}
					if o.Status == dag.InProgress {
						snap.attempts = append(snap.attempts, dag.Attempt{ID: "a-1", Task: o.ID, Agent: text("agent"), Model: text("model"), StartedAt: start})
					}
				}
				for i := range rapid.IntRange(0, 5).Draw(t, "questions") {
					snap.questions = append(snap.questions, inbox.Request{
						N: int64(i), ID: fmt.Sprintf("q-%d", i), Task: "t-00000001", Kind: inbox.Question, Text: text("question"), Options: []string{text("option"), text("option")}, Parks: true,
						State: rapid.SampledFrom([]inbox.State{inbox.Open, inbox.Answered, inbox.Withdrawn}).Draw(t, "of it"), Answer: text("answer"), AnsweredBy: text("who"), Reason: text("reason"),
						Default: text("default"), ExpiresAt: start.Add(time.Hour),
					})
				}
				snap.tally = dag.Tally{ByStatus: map[dag.Status]int{dag.Pending: len(snap.tasks)}}
				s.give(news{snap: &snap, doing: map[string]string{"a-1": text("doing")}, warned: text("warning")})
				s.give(news{
					detail: &detail{task: s.selected, about: text("about"), wish: text("wish"), attempts: 1, attempt: &dag.Attempt{ID: "a-1", Reason: text("why"), EndedAt: start}},
					stream: &stream{lines: slices.Repeat([]string{"  says    " + harmless(text("said"))}, 30)},
				})
			case 1:
				s.Update(tea.WindowSizeMsg{Width: rapid.IntRange(0, 140).Draw(t, "width"), Height: rapid.IntRange(0, 45).Draw(t, "height")})
			case 2:
				d := git.Difference{Changes: []git.Change{{Path: text("path"), Old: text("path"), Kind: git.Renamed, Added: 1}}, Patch: text("patch") + "\n+" + text("patch"), Cut: true, Left: []git.Left{{Path: text("path"), Why: text("why")}}}
				s.Update(compared{attempt: dag.Attempt{ID: "a-1"}, Difference: d})
			default:
				s.press(rapid.SampledFrom(keys).Draw(t, "key"))
			}
			lines := strings.Split(s.frame(), "\n")
			if len(lines) > max(s.height, 1) {
				t.Fatalf("%d lines on %d:\n%s", len(lines), s.height, s.frame())
			}
			for _, l := range lines {
				if w := ansi.StringWidthWc(l); w > s.width {
					t.Fatalf("%d columns on %d: %q", w, s.width, l)
				}
				bare := ansi.Strip(l)
				if !s.palette.On && bare != l {
					t.Fatalf("colour without being asked: %q", l)
				}
				for _, r := range bare {
					if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
						t.Fatalf("%U in %q", r, l)
					}
				}
			}
		}
	})
}

// many is a project of so many tasks.
func many(n int) snapshot {
	snap := snapshot{tally: dag.Tally{ByStatus: map[dag.Status]int{dag.Pending: n}}}
	for i := range n {
		snap.tasks = append(snap.tasks, dag.Outline{N: int64(i + 1), Parent: int64(i / 10), ID: fmt.Sprintf("t-%08x", i), Title: fmt.Sprintf("Task %d", i), Status: dag.Pending, Children: 10})
	}
	return snap
}

// TestAFrameLooksAtTheRowsOnTheScreenOnly: it costs the same for 100 tasks and for
// 10,000.
func TestAFrameLooksAtTheRowsOnTheScreenOnly(t *testing.T) { // alone: it counts allocations
	cost := func(n int) float64 {
		snap := many(n)
		s := newScreen(80, 24).give(news{snap: &snap}).press("end")
		check.Contains(t, "the frame", fmt.Sprintf("tasks %d/%d", n, n), s.frame())
		return testing.AllocsPerRun(10, func() { s.frame() })
	}
	if small, large := cost(100), cost(10_000); large > 1.5*small {
		t.Errorf("%.0f allocations for 100 tasks, %.0f for 10,000", small, large)
	}
}

func BenchmarkFrameOf10000Tasks(b *testing.B) {
	snap := many(10_000)
	s := newScreen(120, 40).give(news{snap: &snap})
	for b.Loop() {
		s.frame()
	}
}

func BenchmarkNewsOf10000Tasks(b *testing.B) {
	snap := many(10_000)
	s := newScreen(120, 40)
	for b.Loop() {
		s.give(news{at: start.Add(time.Second), snap: &snap})
	}
}

// TestAWordForWhatCouldRun: what is finished costs no agent any more, so it is not
// merely ready.
func TestAWordForWhatCouldRun(t *testing.T) {
	t.Parallel()
	for want, task := range map[string]dag.Outline{
		"ready":      {Status: dag.Pending},
		"unverified": {Status: dag.Pending, Unverified: true},
		"to review":  {Status: dag.Pending, Unverified: true, ToReview: true},
		dag.Standing: {Status: dag.Pending, Unverified: true, Stands: true},
		"paused":     {Status: dag.Pending, Unverified: true, Paused: true},
		"blocked":    {Status: dag.Blocked, Unverified: true},
	} {
		check.Equal(t, "words", want, new(model).face(task).words)
	}
}
