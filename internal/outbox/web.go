package outbox

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http/httpproxy"
)

// Web posts to web servers. Its zero value works, without a proxy. It follows no
// redirect, so headers reach only the intended server, and its errors
// name only the host of an address, because the rest may be a secret.
type Web struct {
	Getenv func(string) string // where proxies are configured; nil means nowhere
	Roots  *x509.CertPool      // nil means those of the system
	Now    func() time.Time    // nil means time.Now
}

// CheckAddress reports why nothing can be posted to an address, without repeating it.
func CheckAddress(address string) error {
	_, err := parseAddress(address)
	return err
}

// Host is the only part of an address that may be shown.
func Host(address string) string {
	if u, err := parseAddress(address); err == nil {
		return u.Host
	}
	return "?"
}

func parseAddress(address string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimSpace(address))
	switch {
	case err != nil:
		return nil, errors.New("it is not a URL")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("a URL begins with http:// or https://")
	case u.Hostname() == "":
		return nil, errors.New("the URL has no host")
	}
	return u, nil
}

// Post sends a body once. The error says whether and when to retry, by Never and After.
func (w Web) Post(ctx context.Context, address string, header map[string]string, body []byte) error {
	u, err := parseAddress(address)
	if err != nil {
		return Never(err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), bytes.NewReader(body))
	if err != nil {
		return Never(errors.New("it is not a URL"))
	}
	req.Header.Set("User-Agent", "ralph")
	if u.User != nil {
		password, _ := u.User.Password()
		req.SetBasicAuth(u.User.Username(), password)
	}
	for name, value := range header {
		req.Header.Set(name, value)
	}
	// Not http.Client: it follows redirects and puts the address into its errors.
	reply, err := w.Transport().RoundTrip(req)
	if err == nil {
		err = reply.Body.Close()
	}
	if err != nil && ctx.Err() != nil {
		if err = context.Cause(ctx); errors.Is(err, context.DeadlineExceeded) {
			err = errors.New("no answer in time")
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", u.Host, err)
	}
	switch status := reply.StatusCode; {
	case status >= 200 && status < 300:
		return nil
	case status == http.StatusRequestTimeout, status == http.StatusTooManyRequests, status >= 500:
		return After(fmt.Errorf("HTTP status %d", status), w.RetryAfter(reply.Header))
	default:
		return Never(fmt.Errorf("HTTP status %d", status))
	}
}

// maxHeader bounds the header of an answer. Its body is not read at all.
const maxHeader = 64 << 10

// Transport makes requests through the configured proxy, on a connection each.
func (w Web) Transport() *http.Transport {
	proxy := w.proxy()
	return &http.Transport{
		Proxy:                  func(r *http.Request) (*url.URL, error) { return proxy(r.URL) },
		TLSClientConfig:        &tls.Config{RootCAs: w.Roots, MinVersion: tls.VersionTLS12},
		MaxResponseHeaderBytes: maxHeader,
		DisableKeepAlives:      true,
		OnProxyConnectResponse: func(_ context.Context, _ *url.URL, _ *http.Request, reply *http.Response) error {
			if reply.StatusCode != http.StatusOK {
				return fmt.Errorf("the proxy returned HTTP status %d", reply.StatusCode)
			}
			return nil
		},
	}
}

// proxy chooses the proxy for an address as curl and Go programs do: HTTPS_PROXY, HTTP_PROXY
// and NO_PROXY in either case, with names, domains, addresses and networks in the last.
func (w Web) proxy() func(*url.URL) (*url.URL, error) {
	either := func(name string) string {
		if w.Getenv == nil {
			return ""
		}
		return cmp.Or(w.Getenv(name), w.Getenv(strings.ToLower(name)))
	}
	config := httpproxy.Config{HTTPProxy: either("HTTP_PROXY"), HTTPSProxy: either("HTTPS_PROXY"), NoProxy: either("NO_PROXY")}
	return config.ProxyFunc()
}

// RetryAfter reads the header of that name: seconds, or a time.
func (w Web) RetryAfter(header http.Header) time.Duration {
	text := header.Get("Retry-After")
	if seconds, err := strconv.Atoi(text); err == nil {
		return max(time.Duration(min(seconds, 1<<20))*time.Second, 0)
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	now := time.Now
	if w.Now != nil {
		now = w.Now
	}
	return max(at.Sub(now()), 0)
}
