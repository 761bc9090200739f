package report_test

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

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
		if dir, err = filepath.Abs(*pages); err != nil {
			t.Fatal(err)
		}
	}
	demoPage(t, filepath.Join(dir, "demo.html"))
	_, r := story(t)
	writePage(t, filepath.Join(dir, "story.html"), r)
	_, r = large(t, 1000)
	writePage(t, filepath.Join(dir, "large.html"), r)
	b := startChromium(t, path)
	for _, name := range []string{"demo", "story", "large"} {
		for _, width := range []int{390, 1280} {
			for _, scheme := range []string{"light", "dark"} {
				t.Run(fmt.Sprintf("%s-%d-%s", name, width, scheme), func(t *testing.T) {
					look(t, b, filepath.Join(dir, name), width, scheme)
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
func look(t *testing.T, b *browser, name string, width int, scheme string) {
	t.Helper()
	b.openTab(t, width, scheme)
	address := "file://" + name + ".html"
	b.call(t, "Page.navigate", map[string]any{"url": address}, nil)
	b.wait(t, "the page", func(m message) bool { return m.Method == "Page.loadEventFired" })
	var painted bool // two frames later
	b.run(t, `() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))`, "", &painted)
	t.Logf("processor time: %s", b.spent(t))
	for _, what := range []string{"folded", "open"} {
		var seen struct {
			Faults        []string
			Width, Height int
		}
		b.run(t, lookJS, what == "open", &seen)
		for _, fault := range seen.Faults {
			t.Errorf("%s: %s", what, fault)
		}
		var shot struct{ Data []byte }
		clip := map[string]any{"x": 0, "y": 0, "width": seen.Width, "height": min(seen.Height, 12_000), "scale": 1}
		b.call(t, "Page.captureScreenshot", map[string]any{"captureBeyondViewport": true, "clip": clip}, &shot)
		check.OK(t, os.WriteFile(fmt.Sprintf("%s-%d-%s-%s.png", name, width, scheme, what), shot.Data, 0o600))
	}
	for _, m := range b.events {
		judge(t, m, address)
	}
}

func (b *browser) openTab(t *testing.T, width int, scheme string) {
	t.Helper()
	b.tab, b.events = "", nil
	var made struct{ TargetID, SessionID string }
	b.call(t, "Target.createTarget", map[string]any{"url": "about:blank"}, &made)
	b.call(t, "Target.attachToTarget", map[string]any{"targetId": made.TargetID, "flatten": true}, &made)
	t.Cleanup(func() {
		b.tab = ""
		b.call(t, "Target.closeTarget", map[string]any{"targetId": made.TargetID}, nil)
	})
	b.tab = made.SessionID
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		b.call(t, domain+".enable", nil, nil)
	}
	b.call(t, "Performance.enable", map[string]any{"timeDomain": "threadTicks"}, nil)
	b.call(t, "Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": 844, "deviceScaleFactor": 1, "mobile": width < 640}, nil)
	b.call(t, "Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}}, nil)
}

// spent is what the page has cost so far, of the processor: layout and style, and
// all that its thread did, which is reading and painting it, too.
func (b *browser) spent(t *testing.T) string {
	t.Helper()
	var answer struct {
		Metrics []struct {
			Name  string
			Value float64
		}
	}
	b.call(t, "Performance.getMetrics", nil, &answer)
	seconds := map[string]float64{}
	for _, m := range answer.Metrics {
		seconds[m.Name] = m.Value
	}
	return fmt.Sprintf("layout %.0f ms, style %.0f ms, everything %.0f ms",
		1000*seconds["LayoutDuration"], 1000*seconds["RecalcStyleDuration"], 1000*seconds["TaskDuration"])
}

// judge says whether an event is one that a page must not cause.
func judge(t *testing.T, m message, address string) {
	t.Helper()
	switch m.Method {
	case "Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded":
		t.Errorf("the console says %s", m.Params)
	case "Network.requestWillBeSent":
		var e struct{ Request struct{ URL string } }
		if err := json.Unmarshal(m.Params, &e); err != nil || e.Request.URL != address {
			t.Errorf("it asks for %q %v", e.Request.URL, err)
		}
	}
}
