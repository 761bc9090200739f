package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ralph/internal/testing/browser"
	"ralph/internal/testing/check"
	"ralph/internal/testing/fakeagent"
)

var shots = flag.String("shots", "", "folder for the pictures of pages that tests look at")

// hand is how somebody uses a page: with the keyboard only, or with the mouse.
type hand struct {
	*browser.Tab
	keyboard bool
	dir      string // for pictures
	n        int
}

// goes goes to an element.
func (h *hand) goes(selector, name string) {
	h.Helper()
	if h.keyboard {
		h.Reach(selector, name)
	} else {
		h.Click(selector, name)
	}
}

// uses presses a button, follows a link or unfolds something.
func (h *hand) uses(selector, name string) {
	h.Helper()
	h.goes(selector, name)
	if h.keyboard {
		h.Press("\r")
	}
}

// fills types into a field.
func (h *hand) fills(name, text string) {
	h.Helper()
	h.goes("input, textarea", name)
	h.Press(text)
}

// sees looks at the page as it is, and keeps a picture of it.
func (h *hand) sees(step string) {
	h.Helper()
	h.n++
	width, height := h.Look(step)
	h.Shoot(width, min(height, 6_000), filepath.Join(h.dir, fmt.Sprintf("story-%d-%02d-%s.png", h.Width, h.n, step)))
	h.wantCalm(step)
}

// wantCalm wants that nothing was executed or fetched that is not ours, and that nothing has moved under the reader's eyes.
func (h *hand) wantCalm(what string) {
	h.Helper()
	noted := h.Noted()
	check.Equal(h, what+": what was executed", []string{}, noted.XSS)
	check.Equal(h, what+": violations", []string{}, noted.Violations)
	check.That(h, noted.Shift < 0.1, "%s: things moved by %.3f: %s", what, noted.Shift, strings.Join(noted.Moved, "\n"))
	if noted.Later > 0 {
		h.Logf("%s: what came later moved things by %.3f", what, noted.Later)
	}
}

// folder is where pictures go.
func folder(t *testing.T) string {
	t.Helper()
	if *shots == "" {
		return t.TempDir()
	}
	dir, err := filepath.Abs(*shots)
	check.OK(t, err)
	check.OK(t, os.MkdirAll(dir, 0o755))
	return dir
}

// painters are agents of which one asks which colour, and one fails at first, when somebody lets it.
func painters() fakeagent.Script {
	says := func(text string) step { return step{Do: "say", Text: text + "\n"} }
	return fakeagent.Script{Conversations: []fakeagent.Conversation{
		{When: fakeagent.When{Contains: "With a brush", Attempt: 1}, Steps: []step{
			says("I look for paint."),
			{Do: "tool", Text: "ls cellar", Kind: "execute", Status: "completed", Data: json.RawMessage(`"red\nblue\n"`)},
			{Do: "mcp", Method: "ask", Params: json.RawMessage(`{"question":"Which colour is the door to have?","options":["red","blue"]}`)},
			says("I wait for an answer."),
		}},
		{When: fakeagent.When{Contains: "With a brush"}, Steps: []step{says("Then I paint it."), {Do: "file", Path: "door.txt", Text: "blue\n"}, saysDone()}},
		{When: fakeagent.When{Contains: "With screws", Attempt: 1}, Steps: []step{
			{Do: "think", Text: "The hinge looks strange."},
			says("I hold the hinge against the frame."),
			{Do: "mark", Text: "hanging"},
			{Do: "run", Argv: []string{"sh", "-c", `while [ ! -e "${RALPH_PROJECT:-.}/go" ]; do sleep 0.01; done`}}, // in a slot, too
			says("It does not fit."),
			says("<task-failed>{{task}}: the hinge is bent</task-failed>"),
		}},
		{When: fakeagent.When{Contains: "With screws"}, Steps: []step{says("I take the other hinge."), {Do: "file", Path: "hinge.txt", Text: "straight\n"}, saysDone()}},
	}}
}

// TestStoryInChromium plays a whole story in a browser: plan, run, question, answer, failure, retry, done. On a phone it needs
// nothing but keys.
func TestStoryInChromium(t *testing.T) {
	ctx := browser.Start(t)
	for name, h := range map[string]*hand{"keys at 390": {keyboard: true, Tab: &browser.Tab{Width: 390}}, "mouse at 1280": {Tab: &browser.Tab{Width: 1280}}} {
		t.Run(name, func(t *testing.T) {
			h.dir = folder(t)
			h.Tab = browser.Open(ctx, t, h.Width, "light")
			playStory(t, h)
			t.Logf("the pictures are in %s", h.dir)
		})
	}
}

func playStory(t *testing.T, h *hand) {
	p := newPlace(t, painters(), "max_attempts = 1")
	p.env = append(p.env, "RALPH_SANDBOX_MODE=off") // the ledger is not in a slot
	p.repository()
	s, link := p.serves()

	// Let in, with nothing there yet.
	h.Go(link)
	h.Await(`location.pathname === "/" && document.querySelector("main")`)
	h.sees("empty")

	// Plan.
	h.fills("Title", "Hang the door")
	h.fills("What is to be done, and how one sees that it is", "With screws.")
	h.uses("button", "Add the task")
	h.AwaitText("added t-")
	h.uses("nav a", "Tasks")
	h.Await(`location.pathname === "/tasks"`)
	h.AwaitText("Hang the door")
	h.uses("summary", "Add a task")
	h.fills("Title", "Paint the door")
	h.fills("What is to be done, and how one sees that it is", "With a brush.")
	h.uses("button", "Add the task")
	h.AwaitText("added t-")
	h.AwaitText("Paint the door")
	h.sees("planned")

	// Run. What happens appears on a page that is not loaded again.
	h.uses("nav a", "Overview")
	h.Await(`location.pathname === "/" && document.querySelector("#running")`)
	h.uses("form button", "Run")
	h.AwaitText("ralph run")
	browserSet(h)
	p.awaitMark("hanging")
	h.AwaitText("Hang the door")
	h.Await(`document.querySelector("#running").innerText.includes("Hang the door")`)
	wantSame(h)
	h.sees("running")

	// The live attempt.
	h.uses("#running a", browser.Eval[string](h.Tab, `document.querySelector("#running ul a").textContent.replace(/\s+/g, " ").trim()`))
	h.Await(`location.pathname.startsWith("/attempts/")`)
	h.AwaitText("I hold the hinge against the frame.")
	h.sees("attempt")
	browserSet(h)
	p.write("go", "")
	h.AwaitText("It does not fit.")
	wantSame(h)

	// A question appears, and is answered.
	h.uses("nav a", "Overview")
	h.AwaitText("Which colour is the door to have?")
	h.AwaitText("the hinge is bent")
	h.sees("asked")
	h.uses("#asks button", "blue")
	h.AwaitText("answered")
	h.sees("answered")

	// The failure is looked at, and tried again.
	h.uses("nav a", "Overview")
	h.AwaitText("the hinge is bent")
	h.uses("#fails a", browser.Eval[string](h.Tab, `document.querySelector("#fails a").textContent.replace(/\s+/g, " ").trim()`))
	h.Await(`location.pathname.startsWith("/tasks/")`)
	h.sees("failed")
	h.uses("button", "Retry…")
	h.AwaitText("Are you sure?")
	h.sees("sure")
	h.uses("button", "Yes, do it")
	h.Await(`location.pathname.startsWith("/tasks/")`)
	eventually(p, "the first run is over", func() bool { return len(p.overview().Running) == 0 && p.runsOver() })

	// Run again, until everything is done.
	h.uses("nav a", "Overview")
	h.Await(`location.pathname === "/" && document.querySelector("#running")`)
	h.uses("form button", "Run")
	h.AwaitText("ralph run")
	eventually(p, "everything is done", func() bool { return p.overview().Counts["done"] == 2 && p.runsOver() })
	h.Await(`document.querySelector("#verdict .counts")?.innerText.includes("2 done")`)
	h.sees("done")
	h.Quiet()
	s.stop()
	check.Equal(t, "the door", "blue\n", p.read("door.txt"))
	p.wantSound()
}

// runsOver says that no run is under way.
func (p *place) runsOver() bool {
	var runs []struct{ Outcome string }
	p.json(&runs, "runs", "list")
	for _, r := range runs {
		if r.Outcome == "" || r.Outcome == "running" {
			return false
		}
	}
	return true
}

// browserSet and wantSame see that a page was not loaded again in between.
func browserSet(h *hand) { browser.Eval[bool](h.Tab, `window.__here = true`) }

func wantSame(h *hand) {
	h.Helper()
	check.That(h, browser.Eval[bool](h.Tab, `!!window.__here`), "the page was loaded again")
}
