package watch

import (
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
	"ralph/event"
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
		"g says what is typed": {
			[]string{"g", "q", "!", "backspace", " ", "p", "enter"},
			[]deed{{verb: guide, task: mine, text: "q p"}},
		},
		"g and Esc says nothing":   {[]string{"g", "a", "esc", "enter", "q"}, nil},
		"g and Enter says nothing": {[]string{"g", " ", "enter"}, nil},
		"keys of another screen":   {[]string{"?", "p", "enter", "x", "p"}, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := working().press(tt.keys...)
			same := cmpopts.IgnoreFields(dag.Outline{}, "N", "Parent", "Title", "Status")
			check.Equal(t, "result", tt.want, s.deeds, cmp.AllowUnexported(deed{}), same)
		})
	}
}

func TestGuidanceGoesToWhomItWasMeantFor(t *testing.T) {
	t.Parallel()
	s := working().press("g", "h", "i")
	snap := shop()
	snap.attempts = snap.attempts[1:] // the run goes on to another task
	s.tell(news{snap: &snap}).press("enter")
	if len(s.deeds) != 1 || s.deeds[0].task.ID != "t-00000005" {
		t.Errorf("got %+v, want the task for which it was typed", s.deeds)
	}
	s.press("g")
	s.Update(tea.PasteMsg{Content: "two\nlines\x1b[31m" + strings.Repeat("x", 2*longest)})
	s.press("enter")
	if got := s.deeds[1].text; !strings.HasPrefix(got, "two lines[31mxx") || len(got) > longest {
		t.Errorf("got %d bytes: %.40q, want one harmless line of bounded length", len(got), got)
	}
}

// TestGuidanceThatNobodyWouldReadIsRefused before a word of it is typed.
func TestGuidanceThatNobodyWouldReadIsRefused(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		edit func(*dag.Outline)
		want string
	}{
		"done":  {func(o *dag.Outline) { o.Status = dag.Done }, "t-00000005 is done: no agent would read it; r resets it"},
		"group": {func(o *dag.Outline) { o.Children = 2 }, "t-00000005 is a group, which no agent works on: guide a task in it"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, snap := working(), shop()
			tt.edit(&snap.tasks[4])
			s.tell(news{snap: &snap}).press("g")
			if len(s.deeds) != 0 || s.screen != overview || s.notice != tt.want {
				t.Errorf("got %+v and %q, want only %q", s.deeds, s.notice, tt.want)
			}
		})
	}
}

// TestWhatHasEndedIsNotSkipped, and nobody is asked about it first.
func TestWhatHasEndedIsNotSkipped(t *testing.T) {
	t.Parallel()
	for _, status := range []dag.Status{dag.Done, dag.Failed} {
		s, snap := working(), shop()
		snap.tasks[4].Status = status
		want := "t-00000005 is " + string(status) + ": there is nothing to skip"
		if s.tell(news{snap: &snap}).press("x"); s.notice != want {
			t.Errorf("got %q, want %q", s.notice, want)
		}
		if s.press("y"); len(s.deeds) != 0 {
			t.Errorf("got %+v, want nothing", s.deeds)
		}
	}
}

// TestTheSelectionFollowsTheWork until a person moves it, and again when asked to.
func TestTheSelectionFollowsTheWork(t *testing.T) {
	t.Parallel()
	s := working()
	later := shop()
	later.attempts = later.attempts[1:]
	if s.tell(news{snap: &later}); s.selected != "t-00000008" {
		t.Errorf("got %s, want the task that runs", s.selected)
	}
	first := shop()
	other := shop()
	other.attempts = other.attempts[:1]
	if s.press("enter").tell(news{snap: &other}); s.selected != "t-00000008" {
		t.Errorf("got %s, want what is being read", s.selected)
	}
	s.press("q", "down")
	if s.tell(news{snap: &first}); s.selected != "t-00000009" {
		t.Errorf("got %s, want what was selected by hand", s.selected)
	}
	if s.press("f"); s.selected != "t-00000005" {
		t.Errorf("got %s after f, want the task that runs", s.selected)
	}
	if s.press("tab"); s.selected != "t-00000008" {
		t.Errorf("got %s after tab, want the next one", s.selected)
	}
	if s.press("left", "home", "end"); s.selected != "t-0000000c" {
		t.Errorf("got %s after End, want the last", s.selected)
	}
	gone := shop()
	gone.tasks = gone.tasks[:len(gone.tasks)-1]
	if s.tell(news{snap: &gone}); s.selected != "t-0000000b" {
		t.Errorf("got %s, want the neighbour of a task that was deleted", s.selected)
	}
	if s.tell(news{snap: &snapshot{}}); s.selected != "" {
		t.Errorf("got %s, want nothing", s.selected)
	}
}

// TestOnlyOneQuestionToTheDatabaseAtATime, and what was selected meanwhile is asked
// for as soon as the answer is there.
func TestOnlyOneQuestionToTheDatabaseAtATime(t *testing.T) {
	t.Parallel()
	s := newScreen(80, 24)
	s.Init()()
	snap := shop()
	s.press("down", "down")
	if len(s.wishes) != 1 {
		t.Fatalf("asked %d times at once", len(s.wishes))
	}
	_, cmd := s.Update(news{at: start, snap: &snap})
	cmd()
	if len(s.wishes) != 2 || s.wishes[1].task != "t-00000001" {
		t.Fatalf("asked for %+v, want the selected one at once", s.wishes)
	}
	s.Update(did{text: "paused"})
	_, cmd = s.Update(news{at: start, task: "t-00000001"})
	cmd()
	if len(s.wishes) != 3 || !s.wishes[2].reread {
		t.Errorf("asked for %+v, want the database to be read after a deed", s.wishes)
	}
	old := tick{s.turn - 1}
	s.Update(news{at: start, task: "t-00000001"})
	if _, cmd := s.Update(old); cmd != nil {
		t.Error("a tick that was overtaken still asks")
	}
	if _, cmd := s.Update(tick{s.turn}); cmd == nil {
		t.Error("the tick does not ask")
	}
}

// TestWhatWasAskedForIsDoneBeforeTheViewEnds, unless a person insists.
func TestWhatWasAskedForIsDoneBeforeTheViewEnds(t *testing.T) {
	t.Parallel()
	quits := func(cmd tea.Cmd) bool {
		if cmd == nil {
			return false
		}
		_, quit := cmd().(tea.QuitMsg)
		return quit
	}
	key := func(s *screenOf, k string) tea.Cmd {
		_, cmd := s.Update(tea.KeyPressMsg{Text: k, Code: rune(k[0])})
		return cmd
	}
	s := working().press("p")
	if quits(key(s, "q")) {
		t.Error("it left in the middle of a deed")
	}
	if _, cmd := s.Update(did{text: "paused"}); !quits(cmd) {
		t.Error("it did not leave after the deed")
	}
	s = working().press("p")
	key(s, "q")
	if !quits(key(s, "q")) {
		t.Error("it did not leave when asked again")
	}
	if s := working(); !quits(key(s, "q")) {
		t.Error("it did not leave")
	}
}

// TestNothingLeavesTheScreen: whatever is known, typed and said, a frame has its
// size, and nothing in it can do anything to a terminal.
func TestNothingLeavesTheScreen(t *testing.T) {
	t.Parallel()
	evil := []string{"plain", "\x1b[31mred\x1b[0m\x1b]0;title\a", "\u202eright to left\u2066", "日本語のとても長い題名", "a\tb\r\nc", strings.Repeat("long ", 200), "\xff\xfe", "👩‍👩‍👧‍👦 family 👍🏽 🇩🇪 ☎️", "Z\u0301\u0302\u0303algo", ""}
	keys := []string{"up", "down", "left", "right", "enter", "esc", "tab", "home", "end", "pgup", "pgdown", "?", "g", "x", "r", "s", "p", "f", "P", "q", "y", "k", "日"}
	statuses := dag.Statuses()
	rapid.Check(t, func(t *rapid.T) {
		text := func(name string) string { return rapid.SampledFrom(evil).Draw(t, name) }
		s := newScreen(rapid.IntRange(0, 140).Draw(t, "width"), rapid.IntRange(0, 45).Draw(t, "height"))
		s.palette.On = rapid.Bool().Draw(t, "colour")
		s.name = text("name")
		for range rapid.IntRange(1, 8).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "step") {
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
				snap.tally = dag.Tally{ByStatus: map[dag.Status]int{dag.Pending: len(snap.tasks)}}
				s.tell(news{snap: &snap, doing: map[string]string{"a-1": text("doing")}, warned: text("warning")})
				s.tell(news{
					detail: &detail{task: s.selected, about: text("about"), wish: text("wish"), attempts: 1, attempt: &dag.Attempt{ID: "a-1", Reason: text("why"), EndedAt: start}},
					stream: &stream{lines: slices.Repeat([]string{"  says    " + harmless(text("said"))}, 30)},
				})
			case 1:
				s.Update(tea.WindowSizeMsg{Width: rapid.IntRange(0, 140).Draw(t, "width"), Height: rapid.IntRange(0, 45).Draw(t, "height")})
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
		s := newScreen(80, 24).tell(news{snap: &snap}).press("end")
		if want := fmt.Sprintf("tasks %d/%d", n, n); !strings.Contains(s.frame(), want) {
			t.Fatalf("no %q in:\n%s", want, s.frame())
		}
		return testing.AllocsPerRun(10, func() { s.frame() })
	}
	if small, large := cost(100), cost(10_000); large > 1.5*small {
		t.Errorf("%.0f allocations for 100 tasks, %.0f for 10,000", small, large)
	}
}

func BenchmarkFrameOf10000Tasks(b *testing.B) {
	snap := many(10_000)
	s := newScreen(120, 40).tell(news{snap: &snap})
	for b.Loop() {
		s.frame()
	}
}

func BenchmarkNewsOf10000Tasks(b *testing.B) {
	snap := many(10_000)
	s := newScreen(120, 40)
	for b.Loop() {
		s.tell(news{at: start.Add(time.Second), snap: &snap})
	}
}

// TestAWordForWhatCouldRun: what is finished costs no agent any more, so it is not
// merely ready.
func TestAWordForWhatCouldRun(t *testing.T) {
	t.Parallel()
	for want, task := range map[string]dag.Outline{
		"ready":      {Status: dag.Pending},
		"unverified": {Status: dag.Pending, Unverified: true},
		"paused":     {Status: dag.Pending, Unverified: true, Paused: true},
		"blocked":    {Status: dag.Blocked, Unverified: true},
	} {
		if got := new(model).face(task).words; got != want {
			t.Errorf("%+v: got %q, want %q", task, got, want)
		}
	}
}
