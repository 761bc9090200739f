package report_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ralph/internal/testing/check"
	"ralph/internal/testing/golden"
	"ralph/report"
)

// TestReportsAreGolden holds every format to a file that was looked at.
func TestReportsAreGolden(t *testing.T) {
	t.Parallel()
	w, r := story(t)
	for name, write := range map[string]func(io.Writer) error{
		"story.txt":  func(out io.Writer) error { return report.Text(out, r, report.TextOptions{}) },
		"story.md":   func(out io.Writer) error { return report.Markdown(out, r) },
		"story.html": func(out io.Writer) error { return report.HTML(out, r, report.HTMLOptions{}) },
		"story.json": func(out io.Writer) error { return report.JSON(out, r) },
		"story.xml":  func(out io.Writer) error { return report.JUnit(out, r) },
		"summary.md": func(out io.Writer) error { _, err := io.WriteString(out, report.Summary(r)); return err },
	} {
		var b bytes.Buffer
		check.OK(t, write(&b))
		keep(t, name, b.Bytes())
		golden.Check(t, "testdata/"+name, strings.ReplaceAll(b.String(), w.root, "/home/you/project"))
	}
}

// keep writes a page to be looked at, if somebody wants to.
func keep(t *testing.T, name string, data []byte) {
	t.Helper()
	if *pages == "" {
		return
	}
	check.OK(t, os.WriteFile(filepath.Join(*pages, name), data, 0o644))
}

func TestThePageOfALargeRunIsSmall(t *testing.T) {
	t.Parallel()
	if raceDetector {
		t.Skip("a thousand attempts take minutes with the race detector, and there is nothing concurrent in them")
	}
	_, r := large(t, 1000)
	var b bytes.Buffer
	check.OK(t, report.HTML(&b, r, report.HTMLOptions{}))
	keep(t, "large.html", b.Bytes())
	if b.Len() > 2_000_000 {
		t.Errorf("the page of %d tasks has %d bytes, want at most 2 MB", len(r.Tasks), b.Len())
	}
	t.Logf("%d tasks, %d attempts, %d failed, %d waiting: %d bytes", len(r.Tasks), len(r.Attempts), len(r.Failures), len(r.Waits), b.Len())
}
