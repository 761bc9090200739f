package modelagent

import (
	"cmp"
	"context"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	acp "github.com/coder/acp-go-sdk"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"ralph/internal/bounded"
	"ralph/internal/human"
	"ralph/internal/lazyregexp"
	"ralph/internal/outbox"
	"ralph/internal/proc"
)

const (
	maxRedirects = 5
)

type fetchArgs struct {
	URL string `json:"url"`
}

func (b *toolbox) fetchTools() []tool {
	return []tool{newTool(tool{
		Spec: Spec{Name: "fetch", Description: "Get a web page or file by its http or https address, as text."},
		kind: acp.ToolKindFetch, asks: true, timeout: 30 * time.Second,
	}, b.fetch)}
}

func (b *toolbox) fetch(in fetchArgs) (action, doing, error) {
	return action{Title: "Fetch: " + in.URL}, func(ctx context.Context) (string, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSpace(in.URL), nil)
		if err != nil {
			return "", err
		}
		req.Header.Set("User-Agent", "ralph")
		req.Header.Set("Accept", "text/html, text/*;q=0.9, */*;q=0.5")
		resp, err := b.web(nil).Do(req)
		if err != nil {
			return "", cmp.Or(context.Cause(ctx), err)
		}
		defer resp.Body.Close()
		body, err := bounded.Read(resp.Body, maxText)
		if err != nil {
			return "", cmp.Or(context.Cause(ctx), fmt.Errorf("the page: %w", err))
		}
		text, err := pageText(resp.Header.Get("Content-Type"), string(body), resp.Request.URL)
		if resp.StatusCode >= http.StatusBadRequest {
			err = fmt.Errorf("(HTTP %s)", resp.Status)
		}
		return text, err
	}, outbox.CheckAddress(in.URL)
}

// web is a client that uses the proxies of the environment, and sends these headers with each request. It stays with the
// host that was named: the headers are meant for that one, and whoever allowed it has seen no other.
func (b *toolbox) web(headers []acp.HttpHeader) *http.Client {
	proxies := outbox.Web{Getenv: func(name string) string { return proc.Getenv(b.env, name) }}
	return &http.Client{
		Transport: sending{headers, proxies.Transport()},
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			from := via[0].URL
			if len(via) > maxRedirects || r.URL.Hostname() != from.Hostname() || r.URL.Scheme != from.Scheme && r.URL.Scheme != "https" {
				return fmt.Errorf("it leads to %s, use that address", r.URL)
			}
			return nil
		},
	}
}

// sending adds headers to requests.
type sending struct {
	headers []acp.HttpHeader
	*http.Transport
}

func (s sending) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for _, h := range s.headers {
		r.Header.Set(h.Name, h.Value)
	}
	return s.Transport.RoundTrip(r)
}

// pageText is what a person reads of a page.
func pageText(contentType, body string, at *url.URL) (string, error) {
	kind, _, _ := mime.ParseMediaType(cmp.Or(contentType, http.DetectContentType([]byte(body))))
	if kind == "text/html" || kind == "application/xhtml+xml" {
		doc, err := html.Parse(strings.NewReader(body))
		if err != nil {
			return "", err
		}
		var out strings.Builder
		writeText(&out, doc, at, false)
		text := emptyLines.Get().ReplaceAllString(emptyItem.Get().ReplaceAllString(out.String(), "\n- "), "\n\n")
		return strings.TrimSpace(text) + "\n", nil
	}
	if isBinary(body) || !utf8.ValidString(body) && !strings.HasPrefix(kind, "text/") {
		return "", fmt.Errorf("what is there is not text but %s of %s", cmp.Or(kind, "data"), human.Bytes(int64(len(body))))
	}
	return body, nil
}

var (
	whiteSpace = lazyregexp.New(`\s+`)
	emptyLines = lazyregexp.New(`\n\s*\n`)
	emptyItem  = lazyregexp.New(`\n- \s+`) // its text is a paragraph
)

// blocks are the elements after which a line ends, with what stands before them.
var blocks = map[atom.Atom]string{
	atom.H1: "\n\n# ", atom.H2: "\n\n## ", atom.H3: "\n\n### ", atom.H4: "\n\n#### ", atom.H5: "\n\n##### ", atom.H6: "\n\n###### ",
	atom.P: "\n\n", atom.Pre: "\n\n", atom.Blockquote: "\n\n", atom.Table: "\n\n", atom.Ul: "\n", atom.Ol: "\n", atom.Li: "- ",
	atom.Div: "\n", atom.Section: "\n", atom.Article: "\n", atom.Header: "\n", atom.Footer: "\n", atom.Br: "", atom.Hr: "", atom.Tr: "",
	atom.Dt: "", atom.Dd: "", atom.Title: "", atom.Option: "",
}

// writeText writes the text below a node, with its white space as a browser shows it: pre keeps it.
func writeText(out *strings.Builder, n *html.Node, at *url.URL, pre bool) {
	switch n.DataAtom {
	case atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Svg, atom.Iframe, atom.Object:
		return
	case atom.Td, atom.Th:
		out.WriteString(" | ")
	}
	before, isBlock := blocks[n.DataAtom]
	out.WriteString(before)
	if n.Type == html.TextNode {
		text := n.Data
		if !pre {
			text = whiteSpace.Get().ReplaceAllString(text, " ")
		}
		if strings.HasSuffix(out.String(), "\n") && !pre {
			text = strings.TrimPrefix(text, " ")
		}
		out.WriteString(text)
	}
	for child := range n.ChildNodes() {
		writeText(out, child, at, pre || n.DataAtom == atom.Pre)
	}
	for _, a := range n.Attr {
		if n.DataAtom != atom.A || a.Key != "href" || strings.HasPrefix(a.Val, "#") {
			continue
		}
		if to, err := at.Parse(a.Val); err == nil && to.Scheme != "javascript" {
			out.WriteString(" (" + to.String() + ")")
		}
	}
	if isBlock {
		out.WriteByte('\n')
	}
}
