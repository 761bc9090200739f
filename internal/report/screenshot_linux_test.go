package report_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ralph/internal/report"
	"ralph/internal/testing/browser"
	"ralph/internal/testing/check"
	"ralph/internal/testing/golden"
)

// TestTheScreenshotIsCurrent: docs/report.png was taken of a page with the words that a
// report has today. With -update and a browser in RALPH_CHROMIUM it is taken again.
func TestTheScreenshotIsCurrent(t *testing.T) {
	const picture, words = "../docs/report.png", "testdata/screenshot.txt"
	_, r := story(t)
	var page bytes.Buffer
	check.OK(t, report.HTML(&page, r, report.HTMLOptions{}))
	text := visible(page.String())
	if golden.Updating() && os.Getenv(browser.Env) != "" {
		file := filepath.Join(t.TempDir(), "page.html")
		writePage(t, file, r)
		tab := browser.Open(browser.Start(t), t, 1100, "light")
		tab.Go("file://" + file)
		tab.Shoot(1100, 800, picture)
		check.OK(t, os.WriteFile(words, []byte(text), 0o644))
	}
	taken, err := os.ReadFile(words)
	check.OK(t, err)
	check.That(t, string(taken) == text, "%s shows other words than a report has now; take it again with: just pictures", picture)
}

// visible is the text of the part of a page that the picture shows.
func visible(page string) string {
	page, _, _ = strings.Cut(page, `id="focus"`)
	page = regexp.MustCompile(`(?s)<(style|script|title)[ >].*?</(style|script|title)>|<[^>]*>`).ReplaceAllString(page, "\n")
	return strings.Join(strings.Fields(page), " ") + "\n"
}
