package web_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"ralph/dag"
	"ralph/internal/inbox"
	"ralph/internal/provenance"
	"ralph/internal/testing/check"
)

var pictures = flag.String("pages", "", "write pictures of the pages to this folder, to be looked at")

// browser is a tab of Chromium, which was let in.
type browser struct {
	*site
	tab context.Context
}

func (s *site) browser(width int, scheme string) *browser {
	s.t.Helper()
	path := os.Getenv("RALPH_CHROMIUM")
	if path == "" {
		s.t.Skip("RALPH_CHROMIUM names no browser to look with; just look does that")
	}
	if path == "1" {
		path = "chromium"
	}
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.Flag("hide-scrollbars", true))
	if os.Geteuid() == 0 {
		opts = append(opts, chromedp.NoSandbox) // it refuses to be root otherwise; the page is ours
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	allocator, end := chromedp.NewExecAllocator(ctx, opts...)
	tab, shut := chromedp.NewContext(allocator)
	s.t.Cleanup(func() { shut(); end(); cancel() })
	b := &browser{s, tab}
	b.screen(width, scheme)
	check.OK(s.t, chromedp.Do(tab, chromedp.Navigate(s.url+s.server.Link())))
	b.until(`document.querySelector("main")`)
	return b
}

func (b *browser) screen(width int, scheme string) {
	b.t.Helper()
	_, err := chromedp.Call(b.tab, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
		Width: int64(width), Height: 844, DeviceScaleFactor: 1, Mobile: width < 640,
	})
	check.OK(b.t, err)
	_, err = chromedp.Call(b.tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
	check.OK(b.t, err)
}

// until waits until a page says so, also across pages.
func (b *browser) until(condition string) {
	b.t.Helper()
	wait := fmt.Sprintf(`new Promise((done) => { const look = () => { let ok = false; try { ok = document.readyState === "complete" && !!(%s); } catch {} if (ok) done(true); else setTimeout(look, 20); }; look(); })`, condition)
	ctx, cancel := context.WithTimeout(b.tab, 30*time.Second)
	defer cancel()
	for {
		if _, err := chromedp.Run(ctx, chromedp.Evaluate[bool](wait, chromedp.EvalAwaitPromise)); err == nil {
			return
		}
		if ctx.Err() != nil {
			html, _ := chromedp.Run(b.tab, chromedp.Evaluate[string]("document.body.innerText"))
			b.t.Fatalf("it never happens that %s: %s", condition, html)
		}
	}
}

func (b *browser) keys(keys ...string) {
	b.t.Helper()
	for _, k := range keys {
		if len(k) > 1 || k < " " {
			check.OK(b.t, chromedp.Do(b.tab, chromedp.KeyEvent(k)))
			continue
		}
		// One event with its text, as a keyboard does it: a page that takes the key keeps it out of a field that it moves to.
		for _, kind := range []input.DispatchKeyEventType{input.DispatchKeyEventTypeKeyDown, input.DispatchKeyEventTypeKeyUp} {
			_, err := chromedp.Call(b.tab, input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: kind, Key: k, Text: k})
			check.OK(b.t, err)
		}
	}
}

func (b *browser) js(script string) (result string) {
	b.t.Helper()
	result, err := chromedp.Run(b.tab, chromedp.Evaluate[string]("String("+script+")"))
	check.OK(b.t, err)
	return result
}

// agent is what an agent would do with the only task.
func (s *site) agent(title string, do func(*dag.Graph, dag.Claim) error) {
	s.t.Helper()
	task := s.task(title)
	s.update(func(g *dag.Graph) error {
		run, err := g.History.StartRun(dag.Scope{}, dag.Process{PID: 1})
		check.OK(s.t, err)
		c, ok, err := g.Queue.Claim(dag.ClaimOptions{Run: run, Scope: dag.Scope{Task: task.ID}, Lease: time.Hour})
		check.OK(s.t, err)
		check.That(s.t, ok, "%s cannot be claimed", task.ID)
		check.OK(s.t, do(g, c))
		return g.History.EndRun(run.ID, "complete", "", 1)
	})
}

// TestAStoryOnAPhoneWithTheKeyboardInChromium plays a day: plan, question, answer, failure, retry, done. Nothing is clicked.
func TestAStoryOnAPhoneWithTheKeyboardInChromium(t *testing.T) {
	s := newSite(t)
	b := s.browser(390, "light")
	b.until(`document.body.innerText.includes("Add a first task")`)
	b.keys("n", "Write the parser", kb.Enter)
	b.until(`document.querySelector(".flash.failed") === null && document.querySelector(".flash").innerText.includes("added t-")`)
	check.Equal(t, "the address, without what was said", "/", b.js("location.pathname + location.search"))

	b.keys("g", "t")
	b.until(`location.pathname === "/tasks"`)
	b.keys("j", kb.Enter)
	b.until(`document.querySelector("h1").innerText === "Write the parser"`)

	// An agent asks while the page is open, and somebody types.
	b.js(`document.querySelectorAll("details").forEach((d) => d.open = true) || document.querySelector("[name='--title']").focus()`)
	b.keys(kb.End, ", at last")
	s.agent("Write the parser", func(g *dag.Graph, c dag.Claim) error {
		_, err := inbox.Ask(g, provenance.Store{}, c, inbox.Request{Kind: inbox.Question, Text: "Which grammar?", Options: []string{"LL", "LR"}, Parks: true})
		check.OK(t, err)
		return g.Queue.Release(c, dag.Release{Uncounted: true})
	})
	b.until(`document.querySelector("#asks").innerText.includes("Which grammar?") && document.querySelector(".badge").innerText === "1"`)
	check.Equal(t, "what is being typed", "Write the parser, at last", b.js(`document.activeElement.value`))
	check.Equal(t, "the details that are open", "true", b.js(`[...document.querySelectorAll("main > details")].every((d) => d.open)`))
	b.keys(kb.Escape, "g", "i")
	b.until(`location.pathname === "/inbox"`)
	b.keys("j")
	b.until(`document.activeElement.matches(".ask")`)
	for i := 0; b.js(`document.activeElement.innerText`) != "LR"; i++ {
		check.That(t, i < 50, "Tab never comes to the answer LR")
		b.keys(kb.Tab)
	}
	b.keys(kb.Enter)
	b.until(`document.querySelector(".flash").innerText.includes("answered: LR")`)

	b.keys("g", "o")
	b.until(`location.pathname === "/" && document.querySelector("h1").innerText.includes("1 task ready")`)
	s.agent("Write the parser", func(g *dag.Graph, c dag.Claim) error { return g.Queue.Fail(c, "the grammar is ambiguous") })
	b.until(`document.querySelector("h1").innerText.includes("1 task failed") && document.body.innerText.includes("the grammar is ambiguous")`)
	b.keys("j", kb.Tab, kb.Enter)
	b.until(`document.querySelector("h1").innerText === "Are you sure?" && document.activeElement.matches("button.danger")`)
	b.keys(kb.Enter)
	b.until(`document.querySelector(".flash").innerText.includes("reset")`)
	s.agent("Write the parser", func(g *dag.Graph, c dag.Claim) error { return g.Queue.Complete(c, "passed") })
	b.until(`document.querySelector("h1").innerText.includes("All done")`)

	b.keys("?")
	b.until(`document.querySelector("#keys").open`)
	b.keys(kb.Escape)
	b.until(`!document.querySelector("#keys").open`)

	// The project goes away and comes back, and the page says so.
	check.OK(t, os.Rename(s.root+"/.ralph", s.root+"/.away"))
	b.until(`!document.querySelector(".offline").hidden && document.querySelector("h1").innerText.includes("All done")`)
	check.OK(t, os.Rename(s.root+"/.away", s.root+"/.ralph"))
	b.until(`document.querySelector(".offline").hidden`)
	s.stop()
	b.until(`document.querySelector(".offline").innerText.includes("does not answer")`)
}

// TestPagesLookRightInChromium opens the pages on a phone and on a desk, by day and by night: nothing is wider than the screen, what is
// touched is large enough, text can be read, and no script of a title runs. With -pages it leaves pictures.
func TestPagesLookRightInChromium(t *testing.T) {
	s := newSite(t)
	b := s.browser(390, "light")
	ids := s.night(strings.ReplaceAll(hostile, "\x00", "") + strings.Repeat("W", 60))
	for _, path := range []string{"/", "/tasks?status=all&tree=1", "/inbox", "/tasks/" + ids[2], "/tasks/" + ids[4]} {
		for _, width := range []int{390, 1280} {
			for _, scheme := range []string{"light", "dark"} {
				b.screen(width, scheme)
				check.OK(t, chromedp.Do(b.tab, chromedp.Navigate(s.url+path)))
				b.until(`document.querySelector("main") && document.readyState === "complete"`)
				b.js(`document.querySelectorAll("details").forEach((d) => d.open = true)`)
				name := fmt.Sprintf("%s at %d, %s", path, width, scheme)
				check.Equal(t, name+": what is wider than the screen", "", b.js(`[...document.querySelectorAll("main *")].filter((e) => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest("pre, .chips")).map((e) => e.outerHTML.slice(0, 80)).slice(0, 3)`))
				check.Equal(t, name+": what cannot be read", "", b.js(contrast))
				if width == 390 {
					check.Equal(t, name+": what is too small to touch", "", b.js(`[...document.querySelectorAll("main button, main select, main textarea, main input:not([type=hidden]):not([type=checkbox]), nav a")].filter((e) => e.offsetParent && e.getBoundingClientRect().height < 43.5).map((e) => e.outerHTML.slice(0, 80)).slice(0, 3)`))
				}
				if *pictures != "" {
					size := &page.Viewport{Width: float64(width), Height: 1600, Scale: 1}
					beyond := true
					shot, err := chromedp.Call(b.tab, page.CaptureScreenshot, page.CaptureScreenshotParams{CaptureBeyondViewport: &beyond, Clip: size})
					check.OK(t, err)
					file := strings.Trim(strings.NewReplacer("/", "-", "?", "-", "&", "-").Replace(path), "-") + fmt.Sprintf("-%d-%s.png", width, scheme)
					check.OK(t, os.WriteFile(filepath.Join(*pictures, file), shot.Data, 0o644))
				}
			}
		}
	}
	t.Logf("the pictures are in %s", *pictures)
}

// contrast lists texts whose colour is too near to what is behind them: WCAG AA wants 4.5, and 3 for large text.
const contrast = `(() => {
  const rgb = (c) => c.match(/[\d.]+/g).map(Number);
  const lum = ([r, g, b]) => [r, g, b].map((v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4).reduce((s, v, i) => s + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (e) => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor); if (c.length === 3 || c[3] === 1) return c; } return [255, 255, 255]; };
  const bad = [];
  for (const e of document.querySelectorAll("body *")) {
    if (!e.offsetParent || ![...e.childNodes].some((n) => n.nodeType === 3 && n.nodeValue.trim())) continue;
    const [a, b] = [lum(rgb(getComputedStyle(e).color)), lum(behind(e))], ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < (parseFloat(getComputedStyle(e).fontSize) >= 24 ? 3 : 4.5)) bad.push(ratio.toFixed(1) + " " + e.outerHTML.slice(0, 80));
  }
  return bad.slice(0, 3);
})()`
