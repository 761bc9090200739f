// Package browser opens pages in a real browser, for tests only. It says what is wrong with how they look; whether they
// are beautiful is for people to see.
package browser

import (
	"context"
	_ "embed"
	"fmt"
	"iter"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/chromedp"

	"ralph/internal/testing/check"
)

// Env names the browser: a program, or 1 for the chromium on PATH.
const Env = "RALPH_CHROMIUM"

// look.js looks for what is wrong with any page; noted.js notes from the beginning what a page must not do.
var (
	//go:embed look.js
	lookJS string
	//go:embed noted.js
	notedJS string
)

// patience is how long a test waits for what must happen.
const patience = time.Minute

// Start returns the context of a browser without a window. Without one in the environment the test is skipped.
func Start(t testing.TB) context.Context {
	t.Helper()
	path := os.Getenv(Env)
	if path == "" {
		t.Skipf("%s names no browser to look with; just look does that", Env)
	}
	if path == "1" {
		path = "chromium"
	}
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.Flag("hide-scrollbars", true))
	if os.Geteuid() == 0 {
		opts = append(opts, chromedp.NoSandbox) // it refuses to be root otherwise; the pages are ours
	}
	allocator, end := chromedp.NewExecAllocator(context.Background(), opts...)
	ctx, cancel := chromedp.NewContext(allocator)
	t.Cleanup(func() { cancel(); end() })
	check.OK(t, chromedp.Do(ctx))
	return ctx
}

// Tab is one page of a browser on a screen.
type Tab struct {
	testing.TB
	Width   int
	ctx     context.Context
	console iter.Seq2[chromedp.ConsoleMessage, error]
	cancel  context.CancelFunc
}

// Close closes the tab; the end of the test does it otherwise.
func (tab *Tab) Close() { tab.cancel() }

// Open opens a tab on a screen of that width; the scheme is light or dark.
func Open(ctx context.Context, t testing.TB, width int, scheme string) *Tab {
	t.Helper()
	inner, cancel := chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	tab := &Tab{TB: t, Width: width, ctx: inner, console: chromedp.Console(inner), cancel: cancel}
	call(tab, performance.Enable, performance.EnableParams{TimeDomain: performance.EnableTimeDomainThreadTicks})
	call(tab, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
		Width: int64(width), Height: 844, DeviceScaleFactor: 1, Mobile: width < 640,
	})
	call(tab, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: notedJS})
	tab.Scheme(scheme)
	dialogs := chromedp.Events(inner, page.JavascriptDialogOpening)
	go func() {
		for d, err := range dialogs {
			if err != nil {
				return
			}
			tab.Errorf("a dialog opened on %s: %s", d.URL, d.Message)
			_, _ = chromedp.Call(inner, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: true}) // the tab may be gone
		}
	}()
	return tab
}

func call[P, R any](tab *Tab, command cdp.Command[P, R], params P) R {
	tab.Helper()
	result, err := chromedp.Call(tab.ctx, command, params)
	check.OK(tab, err)
	return result
}

// Scheme makes it day (light) or night (dark).
func (tab *Tab) Scheme(scheme string) {
	tab.Helper()
	call(tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
}

// Go opens an address.
func (tab *Tab) Go(address string) {
	tab.Helper()
	check.OK(tab, chromedp.Do(tab.ctx, chromedp.Navigate(address)))
}

// Reload loads the page again.
func (tab *Tab) Reload() {
	tab.Helper()
	check.OK(tab, chromedp.Do(tab.ctx, chromedp.Reload()))
}

// Eval is the value of an expression on the page, of a promise when that is kept.
func Eval[T any](tab *Tab, expression string) T {
	tab.Helper()
	v, err := chromedp.Run(tab.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		tab.Fatalf("%s: %v", brief(expression), err)
	}
	return v
}

// Await waits until an expression is true, also on a page that comes after this one.
func (tab *Tab) Await(expression string) {
	tab.Helper()
	deadline := time.Now().Add(patience)
	for {
		// A page that is just left has no answer; the next one has.
		holds, err := chromedp.Run(tab.ctx, chromedp.Evaluate[bool]("!!("+expression+")"))
		if err == nil && holds {
			return
		}
		if time.Now().After(deadline) {
			tab.Fatalf("it never happened: %s (%v)\n%s", brief(expression), err, Eval[string](tab, "location.href + '\\n' + document.body.innerText"))
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// AwaitText waits until the page shows a text.
func (tab *Tab) AwaitText(text string) {
	tab.Helper()
	tab.Await(fmt.Sprintf("document.body && document.body.innerText.replace(/\\s+/g, ' ').includes(%q)", text))
}

// Press types keys; kb has those that are no characters.
func (tab *Tab) Press(keys string) {
	tab.Helper()
	check.OK(tab, chromedp.Do(tab.ctx, chromedp.KeyEvent(keys)))
}

// named is the name of an element as assistive programs read it, roughly.
const named = `((e, said = (e) => [...(e?.childNodes || [])].map((n) => n.nodeType === 3 ? n.data : n.matches?.("select,textarea,datalist") ? "" : said(n)).join("")) => (e?.getAttribute("aria-label") || said(e?.labels?.[0]) || said(e) || e?.getAttribute("placeholder") || e?.title || "").replace(/\s+/g, " ").trim())`

// Reach presses Tab until the focus is on an element like that with that name, and wants to see at each step where it is.
func (tab *Tab) Reach(selector, name string) {
	tab.Helper()
	var passed []string
	for range 400 {
		tab.Press("\t")
		got := Eval[struct {
			Name, Fault string
			Is          bool
		}](tab, fmt.Sprintf(`(() => {
			const e = document.activeElement;
			if (!e || e === document.body) return { Name: "", Fault: "", Is: false };
			const style = getComputedStyle(e), box = e.getBoundingClientRect(), name = %s(e);
			const ring = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0 || style.boxShadow !== "none";
			const seen = box.width > 0 && box.height > 0 && box.bottom > 0 && box.top < innerHeight;
			const fault = !ring ? "the focus is not seen on " : !seen ? "the focus is off the screen: " : "";
			return { Name: name, Fault: fault && fault + e.outerHTML.slice(0, 120), Is: e.matches(%q) && name === %q };
		})()`, named, selector, name))
		if got.Fault != "" {
			tab.Errorf("%s", got.Fault)
		}
		if got.Is {
			return
		}
		passed = append(passed, got.Name)
	}
	tab.Fatalf("the key Tab does not lead to %s %q: %q", selector, name, passed)
}

// Click clicks on the middle of the first element like that with that name, once it is seen.
func (tab *Tab) Click(selector, name string) {
	tab.Helper()
	tab.Await(fmt.Sprintf("(%s)(%q, %q)", findJS, selector, name))
	place := Eval[[]float64](tab, fmt.Sprintf(`(async () => {
		const e = (%s)(%q, %q);
		e.scrollIntoView({ block: "center", behavior: "instant" });
		await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
		const box = e.getBoundingClientRect();
		return [box.x + box.width / 2, box.y + box.height / 2];
	})()`, findJS, selector, name))
	check.OK(tab, chromedp.Do(tab.ctx, chromedp.MouseClickXY(place[0], place[1])))
}

const findJS = `(selector, name) => [...document.querySelectorAll(selector)].find((e) => e.checkVisibility() && ` + named + `(e) === name)`

// Look says what is wrong with the page as it is: text that is hard to read, controls without names, a page wider than the
// screen. It returns the page's size.
func (tab *Tab) Look(what string) (width, height int) {
	tab.Helper()
	seen := Eval[struct {
		Faults        []string
		Width, Height int
	}](tab, "("+lookJS+")()")
	for _, fault := range seen.Faults {
		tab.Errorf("%s: %s", what, fault)
	}
	return seen.Width, seen.Height
}

// Shoot writes a picture of the upper left part of the page.
func (tab *Tab) Shoot(width, height int, file string) {
	tab.Helper()
	clip := &page.Viewport{Width: float64(width), Height: float64(height), Scale: 1}
	beyond := true
	shot := call(tab, page.CaptureScreenshot, page.CaptureScreenshotParams{CaptureBeyondViewport: &beyond, Clip: clip})
	check.OK(tab, os.WriteFile(file, shot.Data, 0o644))
}

// Noted is what the page has done since it was loaded.
type Noted struct {
	XSS        []string // of scripts that are not ours
	Violations []string // of its content security policy
	Shift      float64  // how far things moved on their own while it was loaded: the cumulative layout shift
	Moved      []string // the things
	Later      float64  // how far things moved since, because something new came
	Paint      float64  // milliseconds until it showed something
	Bytes      float64  // of it and of everything that it fetched to be shown, as if nothing was compressed or known before
}

// Noted returns it.
func (tab *Tab) Noted() Noted {
	tab.Helper()
	return Eval[Noted](tab, "window.__noted()")
}

// Metrics are those of the browser for this page, such as TaskDuration, in seconds.
func (tab *Tab) Metrics() map[string]float64 {
	tab.Helper()
	all := map[string]float64{}
	for _, m := range call(tab, performance.GetMetrics, cdp.Empty{}).Metrics {
		all[m.Name] = m.Value
	}
	return all
}

// Quiet reports what the console has said so far, but for messages that contain one of the texts.
func (tab *Tab) Quiet(but ...string) {
	tab.Helper()
	const end = "log: that is all"
	Eval[chromedp.Void](tab, `console.log("that is all"); ({})`)
	for m, err := range tab.console {
		check.OK(tab, err)
		if m.String() == end {
			return
		}
		expected := false
		for _, part := range but {
			expected = expected || strings.Contains(m.String(), part)
		}
		check.That(tab, expected, "the console says %s (%s)", m, m.URL)
	}
}

func brief(text string) string { return text[:min(len(text), 200)] }
