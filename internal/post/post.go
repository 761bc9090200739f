// Package post sends small requests to web servers and says how they answered. It
// knows only as much of HTTP as webhooks and collectors need: the standard client
// would make the program larger by half as much again as encryption alone does. It
// follows no redirection, keeps no connection, and never puts more of an address
// than its host into an error, because the rest may be a secret.
package post

import (
	"bufio"
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"
)

// Client posts. Its zero value works, without a proxy.
type Client struct {
	Proxy func(*url.URL) *url.URL // nil, or a nil result, means none
	Roots *x509.CertPool          // nil means those of the system
	Now   func() time.Time        // nil means time.Now
}

// Reply is what a server said.
type Reply struct {
	Status int
	After  time.Duration // how long it wants to be left alone; 0 if it does not say
}

// OK says that the server took it.
func (r Reply) OK() bool { return r.Status >= 200 && r.Status < 300 }

// Again says that the same request may succeed later.
func (r Reply) Again() bool { return r.Status == 408 || r.Status == 429 || r.Status >= 500 }

// Check says whether an address can be posted to, without repeating it.
func Check(address string) error {
	_, err := parse(address)
	return err
}

// Host is the only part of an address that may be shown.
func Host(address string) string {
	if u, err := parse(address); err == nil {
		return u.Host
	}
	return "?"
}

func parse(address string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimSpace(address))
	switch {
	case err != nil:
		return nil, errors.New("it is no address")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("an address begins with http:// or https://")
	case u.Hostname() == "":
		return nil, errors.New("the address has no host")
	}
	return u, nil
}

// Post sends a body of that type and returns when the server answered, or ctx ended.
func (c Client) Post(ctx context.Context, address string, header map[string]string, body []byte) (Reply, error) {
	u, err := parse(address)
	if err != nil {
		return Reply{}, err
	}
	reply, err := c.post(ctx, u, header, body)
	if err == nil {
		return reply, nil
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
		if errors.Is(err, context.DeadlineExceeded) {
			err = errors.New("no answer in time")
		}
	}
	return reply, fmt.Errorf("%s: %w", u.Host, err)
}

func (c Client) post(ctx context.Context, u *url.URL, header map[string]string, body []byte) (Reply, error) {
	conn, target, auth, err := c.connect(ctx, u)
	if err != nil {
		return Reply{}, err
	}
	defer func() { _ = conn.Close() }() // the answer is read by then
	// Reading and writing know no context; a deadline in the past ends them.
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	var b bytes.Buffer
	fmt.Fprintf(&b, "POST %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: ralph\r\nContent-Length: %d\r\nConnection: close\r\n", target, u.Host, len(body))
	b.WriteString(auth)
	if err := headers(&b, u, header); err != nil {
		return Reply{}, err
	}
	b.WriteString("\r\n")
	b.Write(body)
	_, werr := conn.Write(b.Bytes())
	reply, err := c.read(bufio.NewReader(io.LimitReader(conn, maxAnswer)))
	if err != nil { // a server may answer before it has read everything
		return Reply{}, cmpErr(werr, err)
	}
	return reply, nil
}

func cmpErr(first, second error) error {
	if first != nil {
		return first
	}
	return second
}

// maxAnswer is how much of an answer is looked at.
const maxAnswer = 64 << 10

func headers(b *bytes.Buffer, u *url.URL, header map[string]string) error {
	if u.User != nil {
		fmt.Fprintf(b, "Authorization: %s\r\n", basic(u))
	}
	for name, value := range header {
		if !isToken(name) || strings.ContainsAny(value, "\r\n\x00") {
			return fmt.Errorf("header %q cannot be sent", name)
		}
		fmt.Fprintf(b, "%s: %s\r\n", name, value)
	}
	return nil
}

// isToken says that a header may have that name.
func isToken(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`()<>@,;:\"/[]?={}`, r)
	})
}
