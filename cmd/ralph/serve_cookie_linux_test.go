package main

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"ralph/internal/testing/browser"
	"ralph/internal/testing/check"
)

// TestNoOtherServerGetsTheSessionInChromium: browsers send a cookie to every port of a host, so nobody must be able to guess the host.
func TestNoOtherServerGetsTheSessionInChromium(t *testing.T) {
	ctx := browser.Start(t)
	p := newPlace(t, painters())
	s, _ := p.serves()
	printed := regexp.MustCompile(`open this link: (http://(\S+):\d+)/\?key=\S+`).FindStringSubmatch(s.program.stderr.String())
	check.That(t, printed != nil, "no link: %s", s.program.stderr.String())
	link, own, host := strings.TrimPrefix(printed[0], "open this link: "), printed[1], printed[2]

	var mu sync.Mutex
	var got []string
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, r.Host+": "+r.Header.Get("Cookie"))
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<!doctype html><title>other</title>another server"))
	}))
	defer other.Close()
	port := other.URL[strings.LastIndex(other.URL, ":"):]
	visit := func(tab *browser.Tab, host string) string {
		mu.Lock()
		got = nil
		mu.Unlock()
		tab.Go("http://" + host + port + "/")
		tab.AwaitText("another server")
		browser.Eval[bool](tab, `fetch("/again").then(() => true)`) // a page of its own, to which also strict cookies go
		mu.Lock()
		defer mu.Unlock()
		check.That(t, len(got) > 1, "%s was asked for %q only", host, got)
		return strings.Join(got, "\n")
	}

	tab := browser.Open(ctx, t, 1280, "light")
	tab.Go(link)
	tab.Await(`location.pathname === "/" && document.querySelector("main")`)
	check.Equal(t, "where the page is", own, browser.Eval[string](tab, "location.origin"))
	for _, guess := range []string{"127.0.0.1", "localhost", strings.ToLower(filepath.Base(p.dir)) + ".localhost"} {
		check.That(t, !strings.Contains(visit(tab, guess), "ralph-"), "%s gets the cookie: %s", guess, got)
	}
	check.Contains(t, "the cookies of the host itself", "ralph-", visit(tab, host)) // so the others would have had them

	// Who types the address comes to the name, and is in.
	tab.Go(s.base + "/tasks")
	tab.Await(`location.pathname === "/tasks" && document.querySelector("main")`)
	check.Equal(t, "where the typed address leads", own, browser.Eval[string](tab, "location.origin"))
	check.That(t, !strings.Contains(visit(tab, "127.0.0.1"), "ralph-"), "127.0.0.1 gets the cookie: %s", got)
}
