package modelagent

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	acp "github.com/coder/acp-go-sdk"

	"ralph/internal/human"
	"ralph/internal/outbox"
	"ralph/internal/proc"
)

const (
	maxPage      = 5 << 20
	maxRedirects = 5
)

type fetchArgs struct {
	URL string `json:"url"`
}

func (b *toolbox) fetchTools() []tool {
	return []tool{newTool(tool{
		Spec: Spec{Name: "fetch", Description: "Get a web page or file by its http or https address, as text."},
		kind: acp.ToolKindFetch, asks: true, timeout: 30 * time.Second,
	}, func(in fetchArgs) (action, error) {
		return action{Title: "Fetch: " + in.URL}, outbox.CheckAddress(in.URL)
	}, b.fetch)}
}

func (b *toolbox) fetch(ctx context.Context, in fetchArgs) (string, error) {
	if err := outbox.CheckAddress(in.URL); err != nil {
		return "", err
	}
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
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxPage+1))
	switch {
	case err != nil:
		return "", cmp.Or(context.Cause(ctx), err)
	case len(body) > maxPage:
		return "", fmt.Errorf("the page has more than %s", human.Bytes(maxPage))
	}
	text, err := pageText(resp.Header.Get("Content-Type"), string(body), resp.Request.URL)
	if resp.StatusCode >= http.StatusBadRequest {
		return text, fmt.Errorf("(HTTP %s)", resp.Status)
	}
	return text, err
}

// web is a client that uses the proxies of the environment, and sends these headers with each request. It stays with the
// host that was named: the headers are meant for that one, and whoever allowed it has seen no other.
func (b *toolbox) web(headers []acp.HttpHeader) *http.Client {
	proxies := outbox.Web{Getenv: func(name string) string { return proc.Getenv(b.env, name) }}
	return &http.Client{
		Transport: sending{headers, proxies.Transport()},
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			if from := via[0].URL; r.URL.Hostname() != from.Hostname() || r.URL.Scheme != from.Scheme && r.URL.Scheme != "https" {
				return fmt.Errorf("it leads to %s, use that address", r.URL)
			}
			if len(via) > maxRedirects {
				return fmt.Errorf("it leads on more than %d times", maxRedirects)
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
	if len(s.headers) > 0 {
		r = r.Clone(r.Context())
		for _, h := range s.headers {
			r.Header.Set(h.Name, h.Value)
		}
	}
	return s.Transport.RoundTrip(r)
}
