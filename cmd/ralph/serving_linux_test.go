package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"syscall"

	"golang.org/x/net/html"

	"ralph/internal/testing/check"
)

// serving is ralph serve in a place, and a browser without a script that was let in.
type serving struct {
	*place
	program *running
	base    string // address
	client  *http.Client
}

var printedLink = regexp.MustCompile(`(http://[0-9.:]+)/\?key=\S+`)

// serves starts a server, and returns it with the link that it prints.
func (p *place) serves(args ...string) (s *serving, link string) {
	p.Helper()
	s = &serving{place: p, program: p.start(append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...)}
	eventually(p, "the server prints its link", func() bool {
		found := printedLink.FindStringSubmatch(s.program.stderr.String())
		if found != nil {
			link, s.base = found[0], found[1]
		}
		check.That(p, found != nil || !s.program.over(), "it ended: %s", s.program.stderr.String())
		return found != nil || s.program.over()
	})
	if link == "" {
		p.FailNow()
	}
	return s, link
}

// visited starts a server and lets a browser in by its link.
func (p *place) visited(args ...string) *serving {
	p.Helper()
	s, link := p.serves(args...)
	jar, err := cookiejar.New(nil)
	check.OK(p, err)
	s.client = &http.Client{Jar: jar, Transport: &http.Transport{MaxIdleConnsPerHost: 100}}
	p.Cleanup(s.client.CloseIdleConnections)
	status, _ := s.get(strings.TrimPrefix(link, s.base))
	check.Equal(p, "status of the link", http.StatusOK, status)
	return s
}

// stop ends the server as Ctrl-C does.
func (s *serving) stop() {
	s.Helper()
	s.program.signal(syscall.SIGINT)
	<-s.program.ended
}

// get is what an address answers.
func (s *serving) get(path string) (status int, body string) {
	s.Helper()
	answer, err := s.client.Get(s.base + path)
	check.OK(s, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	check.OK(s, err)
	return answer.StatusCode, string(text)
}

// page is a page as a browser understands it.
func (s *serving) page(path string) *html.Node {
	s.Helper()
	status, body := s.get(path)
	root := parsed(s, body)
	check.That(s, status == http.StatusOK, "%s: status %d: %s", path, status, squeezed(textOf(root)))
	return root
}

func parsed(t check.TB, body string) *html.Node {
	t.Helper()
	root, err := html.Parse(strings.NewReader(body))
	check.OK(t, err)
	return root
}

// form is the form of a page whose button begins with a label, with what its fields hold.
func (s *serving) form(root *html.Node, button string) (action string, fields url.Values) {
	s.Helper()
	for n := range root.Descendants() {
		if n.Data != "form" || !hasButton(n, button) {
			continue
		}
		fields = url.Values{}
		for f := range n.Descendants() {
			name, value := attribute(f, "name"), attribute(f, "value")
			switch {
			case f.Type != html.ElementNode || name == "" || f.Data == "button" || attribute(f, "type") == "checkbox":
			case f.Data == "textarea":
				fields.Add(name, textOf(f))
			case f.Data == "input" || f.Data == "select":
				fields.Add(name, value)
			}
		}
		return attribute(n, "action"), fields
	}
	s.Fatalf("the page has no form with the button %q:\n%s", button, textOf(root))
	return "", nil
}

func hasButton(form *html.Node, label string) bool {
	for n := range form.Descendants() {
		if n.Data == "button" && strings.HasPrefix(strings.TrimSpace(textOf(n)), label) {
			return true
		}
	}
	return false
}

// do presses the button of a form on a page, after fields of it were filled in, and returns what came of it.
func (s *serving) do(path, button string, filled url.Values) (status int, body string) {
	s.Helper()
	action, fields := s.form(s.page(path), button)
	for name, values := range filled {
		fields[name] = values
	}
	return s.post(action, fields)
}

func (s *serving) post(path string, fields url.Values) (status int, body string) {
	s.Helper()
	status, body, err := s.send(path, fields)
	check.OK(s, err)
	return status, body
}

// send sends a form, and follows what takes long to its end, as the page does by itself.
func (s *serving) send(path string, fields url.Values) (status int, body string, err error) {
	answer, err := s.client.PostForm(s.base+path, fields)
	for err == nil && answer.Header.Get("Refresh") != "" {
		answer.Body.Close()
		answer, err = s.client.Get(answer.Request.URL.String())
	}
	if err != nil {
		return 0, "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return answer.StatusCode, string(text), err
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// textOf is all text of an element.
func textOf(root *html.Node) string {
	var text strings.Builder
	for n := range root.Descendants() {
		if n.Type == html.TextNode {
			text.WriteString(n.Data)
		}
	}
	return text.String()
}

// squeezed is a text as a page shows it: white space is one space.
func squeezed(text string) string { return strings.Join(strings.Fields(text), " ") }

// linked are the addresses of this server that a page links to and that begin with a path.
func linked(root *html.Node, under string) (list []string) {
	seen := map[string]bool{}
	for n := range root.Descendants() {
		if to := attribute(n, "href"); n.Data == "a" && strings.HasPrefix(to, under) && !seen[to] {
			seen[to] = true
			list = append(list, to)
		}
	}
	return list
}

// addressOf is the first link of a page that begins with a path.
func (s *serving) addressOf(page, under string) string {
	s.Helper()
	list := linked(s.page(page), under)
	if len(list) == 0 {
		s.Fatalf("%s links to nothing below %s", page, under)
	}
	return list[0]
}

func (s *serving) String() string { return fmt.Sprintf("the server at %s", s.base) }
