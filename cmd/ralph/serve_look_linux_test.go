package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ralph/internal/cli"
	"ralph/internal/testing/browser"
	"ralph/internal/testing/check"
	"ralph/internal/testing/fakeagent"
)

// state is a project to look at.
type state struct {
	name string
	make func(t *testing.T) *place
}

var states = []state{
	{"empty", func(t *testing.T) *place { return newPlace(t, fakeagent.Script{}) }},
	{"running", runningPlace},
	{"failed", failedPlace},
	{"10000", func(t *testing.T) *place { return largePlace(t, 10_000) }},
}

// runningPlace is a project in the middle of a run, with a question and a failure.
func runningPlace(t *testing.T) *place {
	p := newPlace(t, painters(), "max_attempts = 1")
	p.repository()
	p.imports(`{"ref":"t-00000001","title":"Paint the door","description":"With a brush.","feature":"door"}
{"ref":"t-00000002","title":"Hang the door","description":"With screws.","feature":"door","gates":["test -e hinge.txt"]}
{"ref":"t-00000003","title":"Write down how it was done","feature":"door","after":["t-00000001","t-00000002"]}
{"ref":"t-00000004","title":"Tell everybody","after":["t-00000003"]}
`)
	p.start("run", "--in-place")
	p.awaitMark("hanging")
	t.Cleanup(func() { p.write("go", ""); p.awaitGone() }) // its agent ends with it
	return p
}

// failedPlace is a project after a bad night: a gate that fails, an agent that gives up and one that dies.
func failedPlace(t *testing.T) *place {
	p := newPlace(t, fakeagent.Script{Conversations: []fakeagent.Conversation{
		{When: fakeagent.When{Contains: "gives up"}, Steps: []step{{Do: "say", Text: "<task-failed>{{task}}: The server answers 503 to every request, so the test that needs it cannot pass, and I found no other one to use.</task-failed>\n"}}},
		{When: fakeagent.When{Contains: "dies"}, Steps: []step{{Do: "stderr", Text: "out of memory\n"}, {Do: "exit", Code: 3}}},
	}}, "max_attempts = 2")
	p.repository()
	p.imports(`{"ref":"t-00000001","title":"Move the orders to the new table","description":"gives up"}
{"ref":"t-00000002","title":"A title that is much longer than a telephone is wide, because somebody put the whole description of what is to be done into it, which happens","description":"dies"}
{"ref":"t-00000003","title":"Count the orders","gates":["echo 'FAIL: TestOrders/empty: got 0, want 1' && false"]}
{"ref":"t-00000004","title":"Archive","after":["t-00000001"]}
{"ref":"t-00000005","title":"Done at once","kind":"check"}
`)
	p.want(cli.ExitBlocked, "run", "--in-place")
	return p
}

// largePlace is a project with many tasks in features, groups and layers, of which some are done and some failed.
func largePlace(t testing.TB, n int) *place {
	p := newPlace(t.(*testing.T), fakeagent.Script{})
	var lines strings.Builder
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&lines, `{"ref":%q,"title":"Step %d of the migration of module %d","description":"What has to be done."`, number(i), i%100, i/100)
		switch { // each hundredth is a group, of those after it
		case i > 100 && i%100 > 0 && i%100 < 50:
			fmt.Fprintf(&lines, `,"parent":%q`, number(i-i%100))
		case i%100 > 50:
			fmt.Fprintf(&lines, `,"after":[%q]`, number(i-1))
		}
		fmt.Fprintf(&lines, `,"feature":"f%d"}`+"\n", i/1000)
	}
	p.imports(lines.String())
	p.want(0, "task", "done", number(1), number(2), number(3))
	p.want(0, "task", "fail", number(51), "--reason", "it does not build")
	return p
}

// TestPagesInChromium looks at every page of each state, on a phone and on a desk, by day and by night.
func TestPagesInChromium(t *testing.T) {
	ctx := browser.Start(t)
	for _, st := range states {
		t.Run(st.name, func(t *testing.T) {
			p := st.make(t)
			s, link := p.serves()
			dir := folder(t)
			tab := browser.Open(ctx, t, 1280, "light")
			tab.Go(link)
			tab.Await(`location.pathname === "/" && document.querySelector("main")`)
			paths := browser.Eval[[]string](tab, `[...document.querySelectorAll("nav.top a")].map((a) => a.getAttribute("href"))`)
			paths = append(paths, browser.Eval[[]string](tab, `[...new Set([...document.querySelectorAll("main a[href]")].map((a) => a.getAttribute("href")).filter((a) => /^\/(tasks|attempts|runs)\/[^/]+$/.test(a)))].slice(0, 4)`)...)
			if st.name == "running" || st.name == "failed" {
				paths = append(paths, p.attemptPaths()...)
			}
			tab.Go("about:blank") // a browser has six connections for a server, and a page that is open holds one
			slices.Sort(paths)
			paths = slices.Compact(paths)
			for _, width := range []int{390, 1280} {
				h := &hand{Tab: browser.Open(ctx, t, width, "light"), dir: dir}
				for _, path := range paths {
					h.Go(s.base + path)
					name := strings.ReplaceAll(strings.Trim(strings.TrimRight(path, "0123456789abcdef-"), "/"), "/", "-")
					for _, scheme := range []string{"light", "dark"} {
						h.Scheme(scheme)
						what := fmt.Sprintf("%s-%d-%s-%s", st.name, width, scheme, name)
						w, height := h.Look(what)
						h.Shoot(w, min(height, 3_000), filepath.Join(dir, what+".png"))
					}
					h.wantCalm(fmt.Sprint(st.name, " ", width, " ", path))
					noted := h.Noted()
					t.Logf("%-8s %4d %-24s first paint after %4.0f ms (%.2f of 1 s), %3.0f KB", st.name, width, path, noted.Paint, noted.Paint/1000, noted.Bytes/1000)
					check.That(t, noted.Bytes < 300_000, "%s has %.0f bytes, which is 300 KB or more", path, noted.Bytes)
				}
				h.Quiet()
				h.Close()
			}
			s.stop()
		})
	}
}

// attemptPaths are the addresses of an attempt of each task.
func (p *place) attemptPaths() (list []string) {
	p.Helper()
	seen := map[string]bool{}
	for _, e := range p.events() {
		if e.Attempt != "" && !seen[e.Task] {
			seen[e.Task] = true
			list = append(list, "/attempts/"+e.Attempt)
		}
	}
	return append(list, list[0]+"/diff")
}

// TestManyWindowsInChromium: a browser has six connections to a server, and as many windows as somebody opens. All of them hear of
// a change, and a click in the last one is answered.
func TestManyWindowsInChromium(t *testing.T) {
	ctx := browser.Start(t)
	p := newPlace(t, fakeagent.Script{})
	p.want(0, "task", "add", "The first")
	s, link := p.serves()
	var tabs []*browser.Tab
	for i := range 8 {
		tab := browser.Open(ctx, t, 1280, "light")
		tab.Go(map[bool]string{true: link, false: s.base + "/"}[i == 0])
		tab.Await(`location.pathname === "/" && document.querySelector("#next")`)
		tabs = append(tabs, tab)
	}
	p.want(0, "task", "add", "The second")
	for _, tab := range tabs {
		tab.AwaitText("The second")
	}
	tabs[0].Close() // which listened for the others
	p.want(0, "task", "add", "The third")
	for _, tab := range tabs[1:] {
		tab.AwaitText("The third")
	}
	tabs[7].Go(s.base + "/tasks")
	tabs[7].AwaitText("The third")
	s.stop()
}
