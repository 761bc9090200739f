package report_test

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ralph/internal/report"
	"ralph/internal/testing/browser"
	"ralph/internal/testing/check"
)

//go:embed testdata/look.js
var lookJS string

// TestPagesLookRightInChromium opens reports in a real browser, on a phone and on a
// desk, by day and by night, and leaves pictures of them in the folder of -pages.
// Whether they are beautiful is for people to see.
func TestPagesLookRightInChromium(t *testing.T) {
	ctx := browser.Start(t)
	dir := t.TempDir()
	if *pages != "" {
		var err error
		dir, err = filepath.Abs(*pages)
		check.OK(t, err)
	}
	demoPage(t, filepath.Join(dir, "demo.html"))
	_, r := story(t)
	writePage(t, filepath.Join(dir, "story.html"), r)
	_, r = large(t, 1000)
	writePage(t, filepath.Join(dir, "large.html"), r)
	for _, name := range []string{"demo", "story", "large"} {
		for _, width := range []int{390, 1280} {
			for _, scheme := range []string{"light", "dark"} {
				t.Run(fmt.Sprintf("%s-%d-%s", name, width, scheme), func(t *testing.T) {
					look(ctx, t, filepath.Join(dir, name), width, scheme)
				})
			}
		}
	}
	t.Logf("the pictures are in %s", dir)
}

// demoPage writes the report of ralph demo, by the program itself.
func demoPage(t *testing.T, file string) {
	t.Helper()
	scratch := t.TempDir()
	run := func(name string, args ...string) string {
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Env = append(os.Environ(), "TMPDIR="+scratch)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, out)
		}
		return string(out)
	}
	program := filepath.Join(scratch, "ralph")
	run("go", "build", "-o", program, "../cmd/ralph")
	_, project, _ := strings.Cut(run(program, "demo", "--keep"), "kept: ")
	run(program, "report", "--project", strings.TrimSpace(project), "-o", file)
}

func writePage(t *testing.T, file string, r report.Run) {
	t.Helper()
	var page bytes.Buffer
	check.OK(t, report.HTML(&page, r, report.HTMLOptions{}))
	t.Logf("the page of %d tasks has %d bytes", len(r.Tasks), page.Len())
	check.That(t, page.Len() < 2_000_000, "which is not less than 2 MB")
	check.OK(t, os.WriteFile(file, page.Bytes(), 0o600))
}

// look opens a page, takes a picture as it is and one with everything unfolded, and
// says what is wrong with either.
func look(ctx context.Context, t *testing.T, name string, width int, scheme string) {
	t.Helper()
	tab := browser.Open(ctx, t, width, scheme)
	tab.Go("file://" + name + ".html")
	spent := ""
	for _, what := range []string{"LayoutDuration", "RecalcStyleDuration", "TaskDuration"} { // the last is everything
		spent += fmt.Sprintf(" %s %.0f ms", what, 1000*tab.Metrics()[what])
	}
	t.Logf("processor time:%s", spent)
	for _, what := range []string{"folded", "open"} {
		for _, fault := range browser.Eval[[]string](tab, fmt.Sprintf("(%s)(%v)", lookJS, what == "open")) {
			t.Errorf("%s: %s", what, fault)
		}
		width, height := tab.Look(what)
		tab.Shoot(width, min(height, 12_000), fmt.Sprintf("%s-%d-%s-%s.png", name, width, scheme, what))
	}
	tab.Quiet()
}
