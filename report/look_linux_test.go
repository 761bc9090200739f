package report_test

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/chromedp"

	"ralph/internal/testing/check"
	"ralph/report"
)

//go:embed testdata/look.js
var lookJS string

// TestPagesLookRightInChromium opens reports in a real browser, on a phone and on a
// desk, by day and by night, and leaves pictures of them in the folder of -pages.
// Whether they are beautiful is for people to see.
func TestPagesLookRightInChromium(t *testing.T) {
	path := os.Getenv("RALPH_CHROMIUM")
	if path == "" {
		t.Skip("RALPH_CHROMIUM names no browser to look with; just look does that")
	}
	if path == "1" {
		path = "chromium"
	}
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
	ctx := startChromium(t, path)
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

// startChromium returns the context of a browser without a window.
func startChromium(t *testing.T, path string) context.Context {
	t.Helper()
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.Flag("hide-scrollbars", true))
	if os.Geteuid() == 0 {
		opts = append(opts, chromedp.NoSandbox) // it refuses to be root otherwise; the page is ours
	}
	allocator, end := chromedp.NewExecAllocator(context.Background(), opts...)
	ctx, cancel := chromedp.NewContext(allocator)
	t.Cleanup(func() { cancel(); end() })
	check.OK(t, chromedp.Do(ctx))
	return ctx
}

// openTab opens a page on a screen, and returns what its console says from then on.
func openTab(ctx context.Context, t *testing.T, file string, width int, scheme string) (context.Context, iter.Seq2[chromedp.ConsoleMessage, error]) {
	t.Helper()
	tab, cancel := chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	console := chromedp.Console(tab)
	call(tab, t, performance.Enable, performance.EnableParams{TimeDomain: performance.EnableTimeDomainThreadTicks})
	call(tab, t, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
		Width: int64(width), Height: 844, DeviceScaleFactor: 1, Mobile: width < 640,
	})
	call(tab, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
	check.OK(t, chromedp.Do(tab, chromedp.Navigate("file://"+file)))
	return tab, console
}

func call[P, R any](tab context.Context, t *testing.T, command cdp.Command[P, R], params P) R {
	t.Helper()
	result, err := chromedp.Call(tab, command, params)
	check.OK(t, err)
	return result
}

// shoot writes a picture of the upper left part of a page.
func shoot(tab context.Context, t *testing.T, width, height int, file string) {
	t.Helper()
	clip := &page.Viewport{Width: float64(width), Height: float64(height), Scale: 1}
	shot := call(tab, t, page.CaptureScreenshot, page.CaptureScreenshotParams{CaptureBeyondViewport: ptr(true), Clip: clip})
	check.OK(t, os.WriteFile(file, shot.Data, 0o644))
}

// look opens a page, takes a picture as it is and one with everything unfolded, and
// says what is wrong with either.
func look(ctx context.Context, t *testing.T, name string, width int, scheme string) {
	t.Helper()
	tab, console := openTab(ctx, t, name+".html", width, scheme)
	spent := ""
	for _, m := range call(tab, t, performance.GetMetrics, cdp.Empty{}).Metrics {
		if m.Name == "LayoutDuration" || m.Name == "RecalcStyleDuration" || m.Name == "TaskDuration" { // the last is everything
			spent += fmt.Sprintf(" %s %.0f ms", m.Name, 1000*m.Value)
		}
	}
	t.Logf("processor time:%s", spent)
	for _, what := range []string{"folded", "open"} {
		seen, err := chromedp.Run(tab, chromedp.Evaluate[struct {
			Faults        []string
			Width, Height int
		}](fmt.Sprintf("(%s)(%v)", lookJS, what == "open"), chromedp.EvalAwaitPromise))
		check.OK(t, err)
		for _, fault := range seen.Faults {
			t.Errorf("%s: %s", what, fault)
		}
		shoot(tab, t, seen.Width, min(seen.Height, 12_000), fmt.Sprintf("%s-%d-%s-%s.png", name, width, scheme, what))
	}
	const end = "log: that is all"
	check.OK(t, chromedp.Do(tab, chromedp.Evaluate[chromedp.Void](`console.log("that is all"); ({})`)))
	for m, err := range console {
		check.OK(t, err)
		if m.String() == end {
			break
		}
		t.Errorf("the console says %s", m)
	}
}
