package report_test

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"
	"unicode"

	"ralph/dag"
	"ralph/internal/event"
	"ralph/internal/jsonval"
	"ralph/internal/report"
	"ralph/internal/testing/check"
)

const (
	evilTitle = "<script>alert(1)</script> ]]> \x1b[31mred\x1b]0;title\a \u202egnp.exe \"'><img src=x onerror=alert(2)> | `x` @everyone ![i](http://e.example) \u2028 &amp; </style>"
	evilText  = "gate \"x</script><script>alert(3)</script>\": exit status 1 ]]>\n```\n# not a heading\n</pre><script>alert(4)</script>\u202e\x1b[2J\x00\ufffe\n"
)

// hostileStory is a run in which everything foreign attacks.
func hostileStory(t *testing.T) (*world, report.Run) {
	t.Helper()
	w := newWorld(t)
	id := w.add(dag.NewTask{Detail: dag.Detail{Title: evilTitle}})
	short := w.add(dag.NewTask{Detail: dag.Detail{Title: "short"}})
	w.update(func(g *dag.Graph) error { return g.Tasks.GiveUp(short, evilText) })
	w.add(dag.NewTask{Detail: dag.Detail{Title: evilTitle}, After: []string{id}})
	w.begin(dag.Scope{})
	w.attempt(try{
		task: id, took: time.Second, notes: evilText, fail: evilText + strings.Repeat("1 MB of ]]> </script> \x1b[31m \u202e\n", 1<<20/32),
		note:  dag.Note{Agent: evilTitle, Model: evilTitle, ModelEffective: "</title><script>", StopReason: evilTitle, Verdict: evilText, Sandbox: evilTitle, Files: []string{"javascript:alert(5)", evilTitle}},
		gates: `[{"command":"<script>alert(6)</script> ]]>","passed":false,"exit":"\u001b[31mboom","baseline":{"x":"</script>"}}, "no gate"]`,
		files: map[string]string{"verify.log": evilText + "\xff\xfe", "answer.md": evilText},
	})
	w.event(event.Event{Type: event.Warned, Text: evilText})
	w.end("a \x1b[31mnew <outcome>", evilText, event.Counts{Failed: 1, Remaining: 1, Total: 2})
	return w, w.load()
}

func TestHostileTextStaysText(t *testing.T) {
	t.Parallel()
	_, r := hostileStory(t)
	for name, write := range map[string]func(io.Writer) error{
		"text":     func(out io.Writer) error { return report.Text(out, r, report.TextOptions{}) },
		"markdown": func(out io.Writer) error { return report.Markdown(out, r) },
		"summary":  func(out io.Writer) error { return report.Summary(out, r) },
		"html":     func(out io.Writer) error { return report.HTML(out, r, report.HTMLOptions{}) },
		"junit":    func(out io.Writer) error { return report.JUnit(out, r) },
	} {
		var b bytes.Buffer
		check.OK(t, write(&b))
		keep(t, "hostile."+name, b.Bytes())
		for _, c := range b.String() {
			if c != '\n' && c != '\t' && unicode.IsControl(c) || unicode.Is(unicode.Bidi_Control, c) || c == '\u2028' {
				t.Errorf("%s contains %U", name, c)
				break
			}
		}
		check.That(t, b.Len() <= 100<<10, "%s of a reason of 1 MB has %d bytes", name, b.Len())
		check.That(t, !strings.Contains(b.String(), "[31m") && !strings.Contains(b.String(), "[2J"), "%s has the rest of an escape sequence", name)
		switch name {
		case "html":
			checkPage(t, b.String())
		case "junit":
			checkJUnit(t, b.Bytes())
		case "markdown", "summary":
			checkMarkdown(t, name, b.String())
		}
	}
	var b bytes.Buffer
	check.OK(t, jsonval.Print(&b, r))
	check.That(t, json.Valid(b.Bytes()), "the JSON is none")
}

// checkPage looks at the tags of a page: those that text could smuggle in are not
// there, and the only script is its own.
func checkPage(t *testing.T, page string) {
	t.Helper()
	for tag, want := range map[string]int{"<script": 1, "</script": 1, "<style": 1, "</style": 1, "<img": 0, "<iframe": 0} {
		got := strings.Count(page, tag)
		check.That(t, got == want, "the page has %d %s, want %d", got, tag, want)
	}
	body, _, _ := strings.Cut(page, "<script>")
	for _, bad := range []string{`href="javascript`, `href="http`, `src="`, "url("} {
		check.That(t, !strings.Contains(body, bad), "the page contains %s", bad)
	}
	check.That(t, strings.Contains(page, "default-src &#39;none&#39;"), "the page has no policy")
}

// checkMarkdown looks outside of code: no tag, no link, no mention, no heading that
// is not ours.
func checkMarkdown(t *testing.T, name, text string) {
	t.Helper()
	fence := ""
	for l := range strings.Lines(text) {
		l = strings.TrimRight(l, "\n")
		switch {
		case fence == "" && strings.HasPrefix(l, "```"):
			fence = strings.TrimRight(l, "sh")
			continue
		case fence != "" && l == fence:
			fence = ""
			continue
		case fence != "":
			continue
		}
		plain := strings.NewReplacer("<sub>", "", "</sub>", "").Replace(l)
		for i, part := range strings.Split(plain, "`") {
			if i%2 == 1 {
				continue // a code span
			}
			for _, bad := range []string{"<", "@everyone", "](", "http://"} {
				check.That(t, !strings.Contains(strings.ReplaceAll(part, `\](`, ""), bad), "%s: %q contains %s", name, l, bad)
			}
		}
		check.That(t, !strings.HasPrefix(l, "# not"), "%s: a gate made a heading: %q", name, l)
	}
	check.That(t, fence == "", "%s: a fence is not closed", name)
}
