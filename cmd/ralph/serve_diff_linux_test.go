package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"ralph/internal/testing/browser"
	"ralph/internal/testing/check"
	"ralph/internal/testing/fakeagent"
)

// changingPlace is a project whose agent has changed files in its slot, some with hostile names and contents, and waits for the file
// go. Then it changes one more, and waits for the file end.
func changingPlace(t *testing.T) *place {
	t.Helper()
	await := func(name string) step {
		return step{Do: "run", Argv: []string{"sh", "-c", `while [ ! -e "${RALPH_PROJECT:-.}/` + name + `" ]; do sleep 0.01; done`}}
	}
	steps := []step{
		{Do: "file", Path: "cart.go", Text: "package cart\n\n// Items are what was chosen, in the order in which it was chosen, which a test of the check-out wants to be the same after a reload.\nfunc Items() []string { return session().items }\n"},
		{Do: "run", Argv: []string{"rm", "old.txt"}},
	}
	for i, text := range hostileTexts(t) {
		if name := strings.Map(fileRune, text); i%10 == 0 && len(name) < 200 {
			steps = append(steps, step{Do: "file", Path: fmt.Sprint("work/", i, name), Text: text + "\n"})
		}
	}
	steps = append(steps, step{Do: "mark", Text: "begun"}, await("go"), step{Do: "file", Path: "later.txt", Text: "later\n"}, await("end"), saysDone())
	p := newPlace(t, fakeagent.Script{Conversations: []fakeagent.Conversation{{Steps: steps}}})
	p.write("cart.go", "package cart\n\nfunc Items() []string { return nil }\n")
	p.write("old.txt", "old\n")
	p.repository()
	p.append(".git/info/exclude", "/go\n/end\n/plan.jsonl\n")
	p.plan("Keep what is in the cart")
	run := p.start("run", "--target", "main", "--sandbox", "off")
	p.awaitMark("begun")
	t.Cleanup(func() { p.write("go", ""); p.write("end", ""); <-run.ended })
	return p
}

// TestTheDiffOfASlotIsServed while its agent works: what it wrote is there before it ends, and nothing of it is more than text.
func TestTheDiffOfASlotIsServed(t *testing.T) {
	t.Parallel()
	p := changingPlace(t)
	s := p.visited("--read-only")
	path := p.attemptPaths()[0]
	for _, from := range []string{"/tasks/" + number(1), "/runs/last", path} {
		check.That(t, strings.Contains(fmt.Sprint(linked(s.page(from), path)), path+"/diff"), "%s has no link to the diff", from)
	}
	shows := func(texts ...string) {
		t.Helper()
		for _, text := range texts {
			eventually(t, "the page shows "+text, func() bool { return strings.Contains(textOf(s.page(path+"/diff")), text) })
		}
		wantHarmless(t, path, s.page(path+"/diff"))
	}
	shows("What it has changed so far", "cart.go modified, +2 −1", "old.txt deleted, +0 −1", "-func Items() []string { return nil }", "+// Items are what was chosen")
	p.write("go", "")
	shows("later.txt added, +1 −0", "+later")
	p.write("end", "")
	shows("What it changed", "+later")
}

// TestTheDiffOfASlotInChromium: a page that is open shows what the agent changes next, without being loaded again.
func TestTheDiffOfASlotInChromium(t *testing.T) {
	ctx := browser.Start(t)
	p := changingPlace(t)
	s, link := p.serves()
	dir, path := folder(t), p.attemptPaths()[0]+"/diff"
	tab := browser.Open(ctx, t, 1280, "light")
	tab.Go(link)
	tab.Await(`location.pathname === "/" && document.querySelector("main")`)
	tab.Close()
	for _, width := range []int{390, 1280} {
		h := &hand{Tab: browser.Open(ctx, t, width, "light"), dir: dir}
		h.Go(s.base + path)
		for _, scheme := range []string{"light", "dark"} {
			h.Scheme(scheme)
			what := fmt.Sprintf("slot-%d-%s-diff", width, scheme)
			w, height := h.Look(what)
			h.Shoot(w, min(height, 3_000), filepath.Join(dir, what+".png"))
		}
		h.wantCalm(fmt.Sprint("the diff of a slot at ", width))
		h.Quiet()
		h.Close()
	}
	tab = browser.Open(ctx, t, 1280, "light")
	tab.Go(s.base + path)
	tab.Await(`window.opened = document.querySelector("pre.diff")`)
	p.write("go", "")
	tab.Await(`window.opened?.textContent.includes("+later")`)
	check.Equal(t, "what was executed", []string{}, tab.Noted().XSS)
	tab.Close()
}
