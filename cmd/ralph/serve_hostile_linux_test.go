package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"ralph/internal/cli"
	"ralph/internal/inbox"
	"ralph/internal/render"
	"ralph/internal/testing/browser"
	"ralph/internal/testing/check"
	"ralph/internal/testing/fakeagent"
)

// hostileTexts are those of testdata/hostile.txt, a JSON string a line. Whatever executes one sets __xss.
func hostileTexts(t *testing.T) (list []string) {
	t.Helper()
	for line := range strings.Lines(repoFile(t, "cmd/ralph/testdata/hostile.txt")) {
		var text string
		check.OK(t, json.Unmarshal([]byte(line), &text))
		list = append(list, text)
	}
	check.That(t, len(list) >= 200, "there are only %d hostile texts", len(list))
	return list
}

// hostilePlace is a project in which everything that can be foreign is hostile: titles, descriptions, what agents say, think,
// call, ask and learn, the names of their files, why they failed, and what was answered.
func hostilePlace(t *testing.T) (p *place, titles []string) {
	t.Helper()
	texts := hostileTexts(t)
	var works, learns []step
	for i, text := range texts {
		works = append(works, step{Do: "say", Text: text + "\n"}, step{Do: "think", Text: text + "\n"},
			step{Do: "tool", ID: fmt.Sprint("call-", i), Text: text, Kind: "execute", Status: "completed", Params: mustJSON(map[string]any{text: text}), Data: mustJSON(text), Paths: []string{text}})
		if name := strings.Map(fileRune, text); i%4 == 0 && len(name) < 200 {
			works = append(works, step{Do: "file", Path: fmt.Sprint("work/", i, name), Text: text + "\n"})
		}
		if i%10 == 0 {
			learns = append(learns, step{Do: "say", Text: fmt.Sprintf("\n<knowledge title=\"%s\" tags=\"hostile\">\n%s\n</knowledge>\n", strings.Map(fileRune, text), text)})
		}
	}
	journal := step{Do: "say", Text: "\n<journal>\n" + strings.Join(texts, "\n") + "\n</journal>\n"}
	fails := step{Do: "say", Text: "\n<task-failed>{{task}}: " + strings.Join(texts[:40], "\n") + "\n</task-failed>\n"}
	p = newPlace(t, fakeagent.Script{Conversations: []fakeagent.Conversation{
		{When: fakeagent.When{Task: number(1)}, Steps: slices.Concat(works, learns, []step{journal, saysDone()})},
		{When: fakeagent.When{Task: number(2)}, Steps: []step{fails}},
	}}, "max_attempts = 1")
	p.repository()
	p.plan("work", "fail")
	p.want(cli.ExitRefused, "run", "--in-place")
	var lines strings.Builder
	for i, text := range texts {
		text = strings.ReplaceAll(text, "\x00", "") // which no plan may have
		titles = append(titles, text)
		fmt.Fprintf(&lines, "%s\n", mustJSON(map[string]any{"ref": number(i + 3), "title": text, "description": text, "gates": []string{"echo " + text}}))
	}
	p.imports(lines.String())
	var requests []inbox.Request
	for i, text := range texts[:100] {
		requests = append(requests, inbox.Request{Kind: inbox.Question, Task: number(i + 3), Text: text, Options: []string{text, texts[i+100]}, Parks: true})
	}
	_, err := askAll(p.dir, requests...)
	check.OK(t, err)
	return p, titles
}

// fileRune leaves out what a file name cannot have.
func fileRune(r rune) rune {
	if r == '/' || r == '\n' || r == '"' || r < ' ' {
		return -1
	}
	return r
}

func mustJSON(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // a test wrote what is no JSON
	}
	return raw
}

// TestHostileTextIsTextOnEveryPage reads all pages of a hostile project as a browser would.
func TestHostileTextIsTextOnEveryPage(t *testing.T) {
	t.Parallel()
	p, titles := hostilePlace(t)
	s := p.visited()
	s.answersWith(titles)
	todo, seen := []string{"/"}, map[string]bool{"/": true}
	for len(todo) > 0 && len(seen) < 600 {
		path := todo[0]
		todo = todo[1:]
		root := s.page(path)
		wantHarmless(t, path, root)
		for _, next := range linked(root, "/") {
			next, _, _ = strings.Cut(next, "#")
			if u, err := url.Parse(next); err != nil || seen[next] || strings.HasPrefix(u.Path, "/static/") || strings.Count(u.RawQuery, "&") > 1 {
				continue // combinations of filters show the same again
			}
			seen[next] = true
			todo = append(todo, next)
		}
	}
	t.Logf("%d pages", len(seen))
	for i, title := range titles {
		root := s.page("/tasks/" + number(i+3))
		check.Contains(t, "the page of "+number(i+3), squeezed(render.Line(title)), squeezed(textOf(root)))
	}
}

// answersWith answers questions in the inbox with hostile text, and adds tasks with hostile titles, by the forms of the pages.
func (s *serving) answersWith(texts []string) {
	s.Helper()
	for _, text := range texts[:10] {
		status, body := s.do("/inbox", "Answer", url.Values{"stdin": {text}, "text": nil})
		check.That(s, status == http.StatusOK || status == http.StatusUnprocessableEntity, "answering %q: %d", text, status)
		wantHarmless(s, "the answer to "+text, parsed(s, body))
		status, body = s.do("/tasks", "Add", url.Values{"text": {text}})
		check.That(s, status == http.StatusOK || status == http.StatusUnprocessableEntity, "adding %q: %d", text, status)
		wantHarmless(s, "adding "+text, parsed(s, body))
	}
}

// elements and attributes are those that our pages have. A page that gets another one on purpose lists it here.
var (
	pageElements = words(`html head meta title link script body nav a main header footer section article div p span h1 h2 h3 h4 ul ol li dl dt dd table thead tbody tr th td caption
		form label input select option optgroup datalist textarea button details summary fieldset legend small b i em strong code pre ins del mark time kbd br hr progress meter noscript dialog template figure figcaption
		svg g path rect circle line text tspan polygon polyline defs marker use title desc clippath clipPath`)
	linkAttributes = words(`href src action formaction xlink:href data poster srcset ping background`)
	textAttributes = words(`value title aria-label placeholder content alt datetime`)
)

func words(list string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(list) {
		set[w] = true
	}
	return set
}

// wantHarmless wants that a page has nothing that could execute what is not ours: hostile text is in text and in values only.
func wantHarmless(t check.TB, path string, root *html.Node) {
	t.Helper()
	for n := range root.Descendants() {
		if n.Type == html.CommentNode && strings.Contains(n.Data, "xss") {
			t.Errorf("%s: text in a comment: %s", path, n.Data)
		}
		if n.Type != html.ElementNode {
			continue
		}
		check.That(t, pageElements[n.Data], "%s: an element %s that is not ours: %v", path, n.Data, n.Attr)
		if n.Data == "script" || n.Data == "style" {
			check.That(t, n.FirstChild == nil && strings.HasPrefix(attribute(n, "src"), "/static/"), "%s: a %s that is not ours: %s", path, n.Data, textOf(n))
		}
		for _, a := range n.Attr {
			value := strings.ToLower(strings.TrimSpace(a.Val))
			switch {
			case strings.HasPrefix(a.Key, "on"), a.Key == "style" && strings.Contains(a.Val, "xss"), a.Key == "srcdoc", strings.Contains(a.Key, "xss"):
				t.Errorf("%s: <%s %s=%q>", path, n.Data, a.Key, a.Val)
			case linkAttributes[a.Key]:
				check.That(t, strings.HasPrefix(value, "/") && !strings.HasPrefix(value, "//") && !strings.HasPrefix(value, "/\\") || strings.HasPrefix(value, "#"), "%s: <%s> leads to %q", path, n.Data, a.Val)
			case textAttributes[a.Key] || strings.HasPrefix(a.Key, "data-"):
			default:
				check.That(t, !strings.Contains(a.Val, "xss"), "%s: text in <%s %s=%q>", path, n.Data, a.Key, a.Val)
			}
		}
	}
}

// TestHostileTextExecutesNothingInChromium opens the pages of a hostile project in a browser that would.
func TestHostileTextExecutesNothingInChromium(t *testing.T) {
	ctx := browser.Start(t)
	p, titles := hostilePlace(t)
	s, link := p.serves()
	tab := browser.Open(ctx, t, 1280, "light")
	tab.Go(link)
	tab.Await(`location.pathname === "/" && document.querySelector("main")`)
	paths := []string{"/", "/tasks", "/inbox", "/graph", "/runs", "/cost", "/journal", "/knowledge", "/tasks/" + number(1), "/tasks/" + number(2)}
	for i := range titles {
		if i%30 == 0 {
			paths = append(paths, "/tasks/"+number(i+3))
		}
	}
	seen := map[string]bool{}
	for len(paths) > 0 {
		path := paths[0]
		paths = paths[1:]
		if seen[path] {
			continue
		}
		seen[path] = true
		tab.Go(s.base + path)
		unfolded := `for (const d of document.querySelectorAll("details")) d.open = true; [...document.querySelectorAll("a[href]")].map((a) => a.getAttribute("href")).filter((a) => /^\/(attempts|runs|knowledge|tasks\?.*from)/.test(a))`
		paths = append(paths, browser.Eval[[]string](tab, unfolded)...)
		if len(seen) > 60 {
			paths = nil // the same kinds of pages again
		}
		noted := tab.Noted()
		check.Equal(t, path+": what was executed", []string{}, noted.XSS)
		check.Equal(t, path+": violations", []string{}, noted.Violations)
	}
	tab.Quiet()
	t.Logf("%d pages", len(seen))
}
