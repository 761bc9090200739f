package modelagent

import (
	"cmp"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"ralph/internal/human"
)

// pageText is what a person reads of a page.
func pageText(contentType, body string, at *url.URL) (string, error) {
	kind, _, _ := mime.ParseMediaType(cmp.Or(contentType, http.DetectContentType([]byte(body))))
	if kind == "text/html" || kind == "application/xhtml+xml" {
		doc, err := html.Parse(strings.NewReader(body))
		if err != nil {
			return "", err
		}
		p := page{at: at}
		p.add(doc)
		return strings.TrimSpace(p.text.String()) + "\n", nil
	}
	if strings.ContainsRune(body, 0) || !utf8.ValidString(body) && !strings.HasPrefix(kind, "text/") {
		return "", fmt.Errorf("what is there is not text but %s of %s", cmp.Or(kind, "data"), human.Bytes(int64(len(body))))
	}
	return body, nil
}

// page turns HTML into text.
type page struct {
	at   *url.URL
	text strings.Builder
	gap  int  // line breaks, or one blank if it is negative, before the next word
	mark bool // what was written last begins an item: nothing separates it from the next word
	pre  bool // white space is as it is
}

// before says what stands before the text of an element that is a block, and how many line breaks around it.
var before = map[atom.Atom]struct {
	mark  string
	lines int
}{
	atom.H1: {"# ", 2}, atom.H2: {"## ", 2}, atom.H3: {"### ", 2}, atom.H4: {"#### ", 2}, atom.H5: {"##### ", 2}, atom.H6: {"###### ", 2},
	atom.P: {"", 2}, atom.Pre: {"", 2}, atom.Blockquote: {"", 2}, atom.Table: {"", 2}, atom.Ul: {"", 2}, atom.Ol: {"", 2},
	atom.Li: {"- ", 1}, atom.Tr: {"", 1}, atom.Div: {"", 1}, atom.Section: {"", 1}, atom.Article: {"", 1}, atom.Header: {"", 1},
	atom.Footer: {"", 1}, atom.Br: {"", 1}, atom.Dt: {"", 1}, atom.Dd: {"  ", 1}, atom.Hr: {"", 2}, atom.Title: {"", 2}, atom.Option: {"", 1},
}

func (p *page) add(n *html.Node) {
	if n.Type == html.TextNode {
		p.write(n.Data)
	}
	switch n.DataAtom {
	case atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Svg, atom.Iframe, atom.Object:
		return
	case atom.Td, atom.Th:
		defer p.write(" | ")
	}
	block, isBlock := before[n.DataAtom]
	if isBlock {
		p.gap = max(p.gap, block.lines)
		if block.mark != "" && n.FirstChild != nil {
			p.put(block.mark)
			p.mark = true
		}
	}
	start, pre := p.text.Len(), p.pre
	p.pre = pre || n.DataAtom == atom.Pre
	for child := range n.ChildNodes() {
		p.add(child)
	}
	p.pre = pre
	if n.DataAtom == atom.A && p.text.Len() > start {
		p.link(n)
	}
	if isBlock {
		p.gap = max(p.gap, block.lines)
	}
}

// link writes where a link leads.
func (p *page) link(n *html.Node) {
	for _, a := range n.Attr {
		if to, err := p.at.Parse(a.Val); a.Key == "href" && err == nil && !strings.HasPrefix(a.Val, "#") && to.Scheme != "javascript" {
			p.put(" (" + to.String() + ")")
		}
	}
}

// write adds text with its white space as a browser shows it.
func (p *page) write(text string) {
	if p.pre {
		p.put(text)
		return
	}
	words := strings.Fields(text)
	blank := func(s string) bool { return strings.TrimSpace(s) == "" }
	if text != "" && blank(text[:1]) && p.gap == 0 {
		p.gap = -1
	}
	if len(words) == 0 {
		return
	}
	p.put(strings.Join(words, " "))
	if blank(text[len(text)-1:]) {
		p.gap = -1
	}
}

func (p *page) put(text string) {
	switch {
	case p.text.Len() == 0 || p.mark:
	case p.gap < 0:
		p.text.WriteByte(' ')
	default:
		p.text.WriteString(strings.Repeat("\n", p.gap))
	}
	p.gap, p.mark = 0, false
	p.text.WriteString(text)
}
