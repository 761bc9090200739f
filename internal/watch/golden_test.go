package watch

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ralph/dag"
	"ralph/internal/git"
	"ralph/internal/inbox"
	"ralph/internal/term"
	"ralph/internal/testing/check"
	"ralph/internal/testing/golden"
)

func TestFrames(t *testing.T) {
	t.Parallel()
	empty := func(width int) *screenOf { return newScreen(width, 24).give(news{snap: &snapshot{}}) }
	with := func(change func(*snapshot)) *screenOf {
		snap := shop()
		change(&snap)
		snap.attempts = nil
		return newScreen(80, 24).give(news{snap: &snap})
	}
	tests := map[string]func() *screenOf{
		"running_80x24":  working,
		"running_120x40": func() *screenOf { return newScreen(120, 40).at80() },
		"running_40x12":  func() *screenOf { return newScreen(40, 12).at80() },
		"running_80x24_colour": func() *screenOf {
			s := newScreen(80, 24)
			s.palette = term.Palette{On: true}
			return s.at80()
		},
		"slots": func() *screenOf {
			snap := shop()
			snap.attempts[0].Slot, snap.attempts[1].Slot = 1, 2
			snap.attempts = append(snap.attempts, dag.Attempt{ID: "a-00000003", Task: "t-00000007", Phase: dag.Verifying, Agent: "claude", Slot: 3, StartedAt: start})
			snap.queue = []dag.Merge{
				{N: 1, Attempt: "a-00000002", State: dag.MergeLanding, Reason: "README.md is changed"},
				{N: 2, Attempt: "a-00000003", State: dag.MergeTesting, Candidate: "3f2a1bc"},
			}
			return newScreen(80, 24).give(news{snap: &snap, doing: map[string]string{}, warned: "landing waits: somebody else is changing the repository: /src/shop/.git/index.lock"})
		},
		"unfolded":     func() *screenOf { return working().press("home", "right") },
		"reading":      func() *screenOf { return newScreen(80, 24) },
		"empty":        func() *screenOf { return empty(80) },
		"empty_wide":   func() *screenOf { return empty(120) },
		"help":         func() *screenOf { return working().press("?") },
		"transcript":   func() *screenOf { return working().press("enter", "up", "up") },
		"diff":         func() *screenOf { return changing(cart(), nil) },
		"diff_down":    func() *screenOf { return changing(cart(), nil).press("down", "down", "down") },
		"diff_nothing": func() *screenOf { return changing(git.Difference{}, nil) },
		"diff_unknown": func() *screenOf { return working().press("d") },
		"diff_in_place": func() *screenOf {
			return changing(git.Difference{}, errors.New("its agent works in the project's folder"))
		},
		"guidance":         func() *screenOf { return working().press("g", "O", "p", "e", "n", " ", "i", "t") },
		"question":         func() *screenOf { return working().press("x") },
		"refused":          func() *screenOf { s := working(); s.Update(did{err: errors.New("t-1 is done")}); return s },
		"asks":             func() *screenOf { return asking(80, 24) },
		"asks_40x12":       func() *screenOf { return asking(40, 12) },
		"inbox":            func() *screenOf { return asking(80, 24).press("i") },
		"inbox_120x40":     func() *screenOf { return asking(120, 40).press("i") },
		"inbox_40x12":      func() *screenOf { return asking(40, 12).press("i", "pgdown") },
		"inbox_option":     func() *screenOf { return asking(80, 24).press("i", "2") },
		"inbox_text":       func() *screenOf { return asking(80, 24).press("i", "enter", "i", "n", " ", "q") },
		"inbox_deny":       func() *screenOf { return asking(80, 24).press("i", "d", "n", "o") },
		"inbox_credential": func() *screenOf { return asking(80, 24).press("i", "down", "enter", "s", "k", "-", "1") },
		"inbox_permission": func() *screenOf { return asking(80, 24).press("i", "end") },
		"inbox_elsewhere":  func() *screenOf { return asking(80, 24).press("i", "enter", "x").elsewhere() },
		"inbox_hostile": func() *screenOf {
			const evil = "\x1b[31mred\x1b[0m\x1b]0;title\a \u202eright to left \x1b[2J\r\n\tindented\xff"
			snap := shop()
			snap.questions = asked()[:1]
			r := &snap.questions[0]
			r.Text, r.Options, r.Default, r.State, r.Answer, r.AnsweredBy = evil, []string{evil, evil}, evil, inbox.Answered, evil, evil
			return newScreen(80, 24).give(news{snap: &snap}).press("i")
		},
		"inbox_empty": func() *screenOf { return working().press("i") },
		"warning": func() *screenOf {
			return working().give(news{doing: map[string]string{}, warned: "the disk is nearly full"})
		},
		"no_run": func() *screenOf {
			return with(func(s *snapshot) { s.run, s.state, s.spent = dag.Run{}, none, dag.Usage{} })
		},
		"paused": func() *screenOf {
			return with(func(s *snapshot) { s.paused = start.Add(time.Minute) })
		},
		"follows": func() *screenOf {
			return with(func(s *snapshot) { s.run.Settings, s.attempts = `{"follow":"true"}`, nil })
		},
		"stopping": func() *screenOf { return with(func(s *snapshot) { s.state, s.others = stopping, 1 }) },
		"died": func() *screenOf {
			return with(func(s *snapshot) { s.state, s.run.Scope = died, dag.Scope{Feature: "cart"} })
		},
		"ended": func() *screenOf {
			return with(func(s *snapshot) {
				s.state, s.run.Outcome, s.run.Reason = ended, "blocked", "5 of 12 tasks remain, and none of them can run"
				s.run.EndedAt = start.Add(time.Hour + 5*time.Minute)
			})
		},
		"untried": func() *screenOf {
			snap := shop()
			return working().press("down", "down").give(news{snap: &snap, detail: &detail{
				task: "t-00000007", about: "Remove all items.\n\tKeep the \x1b[31msession\x1b[0m.\n", wish: "ask before it is emptied",
				reasons: []dag.Reason{
					{Text: "it waits for t-00000006: Show what is in the cart"},
					{Text: "the model is limited", Until: start.Add(5 * time.Minute)},
				},
			}})
		},
		"attempt_ended": func() *screenOf {
			snap := shop()
			return working().press("end", "up", "up").give(news{snap: &snap, stream: talk(), detail: &detail{
				task: "t-0000000a", attempts: 3, wish: "use the other server",
				attempt: &dag.Attempt{
					ID: "a-00000003", Agent: "claude", Model: "opus", Outcome: "failed", Reason: "gate \"make speed\": exit status 2\nmore",
					StartedAt: start, EndedAt: start.Add(time.Minute), Gates: []dag.GateRecord{{Command: "make", Passed: true}, {Command: "make speed", Exit: "exit status 2"}},
				},
			}})
		},
	}
	for name, make := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			golden.Check(t, filepath.Join("testdata", name+".txt"), make().frame()+"\n")
		})
	}
}

// TestThePictureIsCurrent draws the picture of the README from the view as it is now.
func TestThePictureIsCurrent(t *testing.T) {
	t.Parallel()
	s := newScreen(100, 26)
	s.palette = term.Palette{On: true}
	golden.Check(t, "../../docs/watch.svg", drawSVG("ralph watch: the graph, the attempts under way and what the selected one says", s.at80().frame()))
}

// TestThePageShowsWhatIsShown holds docs/run.md to the view and to its keys.
func TestThePageShowsWhatIsShown(t *testing.T) {
	t.Parallel()
	const path = "../../docs/run.md"
	page, err := os.ReadFile(path)
	check.OK(t, err)
	var keys strings.Builder
	keys.WriteString("| key | does |\n|---|---|\n")
	for _, k := range Keys() {
		if k.Keys != "" {
			keys.WriteString("| " + k.Keys + " | " + k.Does + " |\n")
		}
	}
	want := replace(t, string(page), "frame", "```\n"+working().frame()+"\n```\n")
	golden.Check(t, path, replace(t, want, "keys", keys.String()))
}

// replace puts text between a mark and the next end.
func replace(t *testing.T, page, mark, text string) string {
	t.Helper()
	before, rest, found := strings.Cut(page, "<!-- "+mark+" -->\n")
	_, after, closed := strings.Cut(rest, "<!-- end -->\n")
	if !found || !closed {
		t.Fatalf("the page has no %s", mark)
	}
	return before + "<!-- " + mark + " -->\n" + text + "<!-- end -->\n" + after
}
