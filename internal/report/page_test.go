package report_test

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"ralph/dag"
	"ralph/internal/event"
	"ralph/internal/report"
	"ralph/internal/testing/check"
)

func pageOf(t *testing.T, r report.Run, o report.HTMLOptions) string {
	t.Helper()
	var b bytes.Buffer
	check.OK(t, report.HTML(&b, r, o))
	return b.String()
}

func has(t *testing.T, page string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		check.That(t, strings.Contains(page, part), "the page has no %q", part)
	}
}

// onePage is the page of a run with one attempt.
func onePage(t *testing.T, a try, outcome event.RunOutcome, o report.HTMLOptions) string {
	t.Helper()
	w := newWorld(t)
	a.task = w.add(dag.NewTask{Detail: dag.Detail{Title: "one"}})
	a.took = time.Second
	w.begin(dag.Scope{})
	w.attempt(a)
	w.end(outcome, "", event.Counts{Done: 1, Total: 1})
	return pageOf(t, w.load(), o)
}

func TestThePageNeedsNoOtherFile(t *testing.T) {
	t.Parallel()
	_, r := story(t)
	page := pageOf(t, r, report.HTMLOptions{})
	for _, m := range regexp.MustCompile(`(?:href|src)="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		to, inside := strings.CutPrefix(m[1], "#")
		check.That(t, inside && strings.Contains(page, `id="`+to+`"`), "it links to %s, which it does not have", m[1])
	}
	has(t, page, "All examples pass.\n</pre>", "$ go test ./lexer\n--- FAIL: TestNumbers\n</pre>", `<a href="#log-a-00000006-1">verify.log</a>`)
}

func TestThePageHoldsSoMuchOfLogs(t *testing.T) {
	t.Parallel()
	line := strings.Repeat("x", 99) + "\n"
	page := onePage(t, try{files: map[string]string{"verify.log": "first\n" + strings.Repeat(line, 30_000) + "last\n", "answer.md": "short\n"}}, "complete", report.HTMLOptions{})
	check.That(t, len(page) <= 1<<20+100_000 && len(page) >= 1<<20-100_000, "the page has %d bytes, want about 1 MiB", len(page))
	check.That(t, !strings.Contains(page, "first\n"), "it has the beginning of a long log")
	has(t, page, "last\n</pre>", "short\n</pre>", "<small>2.9 MiB; the last 1.0 MiB of it</small>")

	page = onePage(t, try{files: map[string]string{"transcript.jsonl": strings.Repeat("ü", 1<<20) + "END"}}, "complete", report.HTMLOptions{})
	check.That(t, len(page) >= 1<<20-100_000 && strings.Contains(page, "üEND</pre>"), "it has not the end of one long line")

	w := newWorld(t)
	for range 12 {
		w.add(dag.NewTask{Detail: dag.Detail{Title: "many"}})
	}
	bad := w.add(dag.NewTask{Detail: dag.Detail{Title: "bad", Priority: 9}})
	w.begin(dag.Scope{})
	for range 12 {
		w.attempt(try{took: time.Second, files: map[string]string{"verify.log": strings.Repeat(line, 12_000)}})
	}
	w.attempt(try{task: bad, took: time.Second, fail: "no", files: map[string]string{"verify.log": "why it failed\n"}})
	w.end("complete", "", event.Counts{Done: 12, Failed: 1, Total: 13})
	page = pageOf(t, w.load(), report.HTMLOptions{})
	check.That(t, len(page) <= 10<<20+200_000, "the page has %d bytes, want at most about 10 MiB", len(page))
	has(t, page, "why it failed\n</pre>", "verify.log 1.1 MiB: the page holds no more than 10.0 MiB of logs")
}

func TestThePageHidesSecretsOfLogsAndDiffs(t *testing.T) {
	t.Parallel()
	const secret = "sk-very-secret"
	o := report.HTMLOptions{
		Hide: func(s string) string { return strings.ReplaceAll(s, secret, "[redacted]") },
		Diff: func(string, string, int) (string, bool, error) { return "+key = " + secret + "\n", false, nil },
	}
	// The beginning of what is kept of the log is in the middle of a secret.
	log := strings.Repeat(secret+" ", (1<<20)/len(secret)) + "end\n"
	page := onePage(t, try{note: dag.Note{Tree: "b0", TreeAfter: "af"}, files: map[string]string{"verify.log": log, "answer.md": "the key is " + secret + "\n"}}, "complete", o)
	check.That(t, !strings.Contains(page, "secret") && strings.Count(page, "[redacted]") >= 3, "a secret is shown")
}

func TestThePageShowsWhatAnAttemptChanged(t *testing.T) {
	t.Parallel()
	patch := "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old </pre><script>\n+new & better\n same\n"
	for name, tc := range map[string]struct {
		note dag.Note
		diff func(string, string, int) (string, bool, error)
		want string
	}{
		"a change":            {dag.Note{Tree: "b0", TreeAfter: "af"}, func(string, string, int) (string, bool, error) { return patch, false, nil }, "<del>-old &lt;/pre&gt;&lt;script&gt;\n</del><ins>&#43;new &amp; better\n</ins> same\n</pre>"},
		"a large change":      {dag.Note{Tree: "b0", TreeAfter: "af"}, func(_, _ string, n int) (string, bool, error) { return strings.Repeat("+x\n", n/3), true, nil }, "diff <small>255 KiB; the beginning of it</small>"},
		"trees that are gone": {dag.Note{Tree: "b0", TreeAfter: "af"}, func(string, string, int) (string, bool, error) { return "", false, errors.New("no") }, "what it changed is not on record any more"},
	} {
		check.Contains(t, name, tc.want, onePage(t, try{note: tc.note}, "complete", report.HTMLOptions{Diff: tc.diff}))
	}
	for name, note := range map[string]dag.Note{"no change": {Tree: "b0", TreeAfter: "b0"}, "nobody knows": {}} {
		diff := func(string, string, int) (string, bool, error) {
			t.Errorf("%s: it is asked for", name)
			return "", false, nil
		}
		page := onePage(t, try{note: note}, "complete", report.HTMLOptions{Diff: diff})
		check.That(t, !strings.Contains(page, "diff <small>"), "%s: there is a diff", name)
	}
}

func TestTheHeadOfThePage(t *testing.T) {
	t.Parallel()
	page := onePage(t, try{}, "complete", report.HTMLOptions{})
	has(t, page, "<title>✓ project: complete (r-00000001)</title>", "<b>project</b> ralph run r-00000001",
		"<dd><details><summary>landlock</summary>writes only below this folder</details></dd>")
}

// TestAnIntendedStopIsNotRed, also when a task failed before: that one is red.
func TestAnIntendedStopIsNotRed(t *testing.T) {
	t.Parallel()
	for outcome, class := range map[event.RunOutcome]string{"limit": "", "stopped": "", "interrupted": "", "failure": "failed", "error": "failed", "complete": "failed"} {
		w := newWorld(t)
		id := w.add(dag.NewTask{Detail: dag.Detail{Title: "one"}})
		w.begin(dag.Scope{})
		w.attempt(try{task: id, took: time.Second, fail: "no"})
		w.end(outcome, "", event.Counts{Failed: 1, Total: 1})
		page := pageOf(t, w.load(), report.HTMLOptions{})
		has(t, page, fmt.Sprintf("<header class=%q>", class), `<details class="card failed"`)
	}
}

func TestLongTitlesEndInAnEllipsis(t *testing.T) {
	t.Parallel()
	title := "Replace " + strings.Repeat("WWWW ", 60) + "end"
	w := newWorld(t)
	id := w.add(dag.NewTask{Detail: dag.Detail{Title: title}})
	w.add(dag.NewTask{Detail: dag.Detail{Title: title}, After: []string{id}})
	w.begin(dag.Scope{Task: id})
	w.attempt(try{task: id, took: time.Second, fail: "no"})
	w.end("complete", "", event.Counts{Failed: 1, Total: 1})
	page := pageOf(t, w.load(), report.HTMLOptions{})
	for _, bold := range regexp.MustCompile(`(?s)(?:<b>|<text x="14" y="\d+">|</span> )(Replace W[^<]*)<`).FindAllStringSubmatch(page, -1) {
		check.That(t, len(bold[1]) <= 90 && (strings.HasSuffix(bold[1], "…") || len(bold[1]) <= 20), "a title is %q", bold[1])
	}
	check.Equal(t, "whole titles, of what failed and of its attempts", 2, strings.Count(page, "end</p>"))
	has(t, page, "WW…</text>")
}
