package post

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"
)

// connect returns a connection to the server, what to ask for on it, and the header
// that a proxy wants to see.
func (c Client) connect(ctx context.Context, u *url.URL) (conn net.Conn, target, auth string, err error) {
	var proxy *url.URL
	if c.Proxy != nil {
		proxy = c.Proxy(u)
	}
	next := u
	if proxy != nil {
		next = proxy
	}
	conn, err = new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(next.Hostname(), port(next)))
	if err != nil {
		return nil, "", "", err
	}
	target = u.RequestURI()
	switch {
	case proxy != nil && u.Scheme == "http":
		target = "http://" + u.Host + target
		if proxy.User != nil {
			auth = "Proxy-Authorization: " + basic(proxy) + "\r\n"
		}
	case proxy != nil:
		err = c.tunnel(ctx, conn, proxy, net.JoinHostPort(u.Hostname(), port(u)))
	}
	if err == nil && u.Scheme == "https" {
		secure := tls.Client(conn, &tls.Config{ServerName: u.Hostname(), RootCAs: c.Roots, MinVersion: tls.VersionTLS12})
		if err = secure.HandshakeContext(ctx); err == nil {
			return secure, target, auth, nil
		}
	}
	if err != nil {
		_ = conn.Close() // the first error says more
		return nil, "", "", err
	}
	return conn, target, auth, nil
}

func basic(u *url.URL) string {
	word, _ := u.User.Password()
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(u.User.Username()+":"+word))
}

// tunnel asks a proxy to pass everything on.
func (c Client) tunnel(ctx context.Context, conn net.Conn, proxy *url.URL, to string) error {
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	ask := fmt.Sprintf("CONNECT %s HTTP/1.1\r\nHost: %s\r\n", to, to)
	if proxy.User != nil {
		ask += "Proxy-Authorization: " + basic(proxy) + "\r\n"
	}
	if _, err := io.WriteString(conn, ask+"\r\n"); err != nil {
		return err
	}
	// One byte at a time: what follows the answer belongs to the server.
	reply, err := c.read(bufio.NewReaderSize(oneByte{conn}, 16))
	if err == nil && !reply.OK() {
		err = fmt.Errorf("the proxy answers with status %d", reply.Status)
	}
	return err
}

// oneByte keeps a buffered reader from reading ahead.
type oneByte struct{ r io.Reader }

func (o oneByte) Read(p []byte) (int, error) { return o.r.Read(p[:min(len(p), 1)]) }

func port(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	if u.Scheme == "https" {
		return "443"
	}
	return "80"
}

// ProxyFrom is the proxy that an environment asks for: HTTPS_PROXY, HTTP_PROXY and
// NO_PROXY, in either case. NO_PROXY names hosts and domains, or is *. This machine
// needs no proxy.
func ProxyFrom(getenv func(string) string) func(*url.URL) *url.URL {
	either := func(name string) string {
		if v := getenv(name); v != "" {
			return v
		}
		return getenv(strings.ToLower(name))
	}
	spared := strings.Split(either("NO_PROXY"), ",")
	return func(u *url.URL) *url.URL {
		host := u.Hostname()
		ip := net.ParseIP(host)
		if host == "localhost" || ip != nil && ip.IsLoopback() {
			return nil
		}
		if slices.ContainsFunc(spared, func(entry string) bool {
			entry = strings.TrimPrefix(strings.TrimSpace(entry), ".")
			return entry == "*" || entry != "" && (host == entry || strings.HasSuffix(host, "."+entry))
		}) {
			return nil
		}
		text := either(strings.ToUpper(u.Scheme) + "_PROXY")
		if text != "" && !strings.Contains(text, "://") {
			text = "http://" + text
		}
		proxy, err := url.Parse(text)
		if text == "" || err != nil || proxy.Scheme != "http" || proxy.Hostname() == "" {
			return nil
		}
		return proxy
	}
}
