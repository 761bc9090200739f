package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"ralph/internal/web"
)

// remoteStatus is how a command ended on a server, which has said why.
type remoteStatus int

func (e remoteStatus) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// remoteError is trouble with the server itself.
type remoteError struct {
	text   string
	status int
}

func (e remoteError) Error() string { return e.text }

// serverClient is the server that commands are sent to.
type serverClient struct {
	url   *url.URL
	token string
	line  web.Line
	acts  bool // the command changes something
}

// localOnly are commands that are about this machine, so that a server that the environment names is not meant.
var localOnly = []string{"version", "completion", "man", "serve", "init", "demo", "agent", "mcp", "merge-driver"}

// runOnServer carries a command out on the server that was named, if one was. argv is in the order that permute makes.
func runOnServer(ctx context.Context, a *App, argv []string) (done bool, err error) {
	global := map[string]string{}
	rest := slices.Clone(argv[1:])
	for len(rest) > 0 && strings.HasPrefix(rest[0], "--") {
		name, value, _ := strings.Cut(strings.TrimPrefix(rest[0], "--"), "=")
		global[name], rest = value, rest[1:]
	}
	to, typed := global["server"]
	if !typed {
		to = a.Getenv("RALPH_SERVER")
	}
	if to == "" || a.within != "" || !typed && (a.Getenv("RALPH_RUN") != "" || slices.Contains(localOnly, rest[0]) || global["project"] != "" || strings.HasPrefix(rest[0], "__")) {
		return false, nil
	}
	if global["project"] != "" {
		return true, Usagef("--server and --project cannot be together: the server has one project")
	}
	if err := a.RefuseAgent(); err != nil {
		return true, err
	}
	a.Quiet = global["quiet"] == "true"
	if global["color"] == "" {
		global["color"] = "never"
		if a.Palette().On {
			global["color"] = "always"
		}
	}
	args := []string{"--color=" + global["color"]}
	for _, flag := range []string{"quiet", "verbose"} {
		if global[flag] != "" {
			args = append(args, "--"+flag+"="+global[flag])
		}
	}
	args = append(args, rest...)
	r := &serverClient{}
	if r.line, err = LineOf(a.Root, args); err != nil {
		return true, err
	}
	if r.acts, _, err = web.Ask(r.line); err != nil {
		var why *web.Refusal
		errors.As(err, &why)
		return true, Hint(Usagef("%s", why.Text), "%s", why.Hint)
	}
	if r.url, err = serverURL(to); err != nil {
		return true, err
	}
	if r.token, err = serverToken(a, global["server-token-file"]); err != nil {
		return true, err
	}
	return true, r.carry(ctx, a, args)
}

func serverURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" {
		return nil, Hint(Usagef("%q is no address of a server", text), "it is what ralph serve prints, such as http://127.0.0.1:7447, without a key")
	}
	return u, nil
}

// serverToken is what lets us in.
func serverToken(a *App, file string) (string, error) {
	var token string
	var err error
	switch typed := a.Getenv("RALPH_SERVER_TOKEN"); {
	case file != "":
		token, err = ReadToken(file)
	case typed != "":
		token, err = CheckToken(typed, "RALPH_SERVER_TOKEN")
	default:
		err = Hint(Usagef("the server's token is missing"), "set RALPH_SERVER_TOKEN, or name a file that has it: --server-token-file FILE")
	}
	a.Redact.Add(token)
	return token, err
}

// minToken is the length of the shortest token that nobody guesses.
const minToken = 16

// ReadToken reads a token from a file that nobody else can read.
func ReadToken(name string) (string, error) {
	info, err := os.Stat(name)
	if err != nil {
		return "", Hint(Usagef("the token: %v", err), "make one with: (umask 077; head -c 24 /dev/urandom | base64 > %s)", name)
	}
	if !info.Mode().IsRegular() {
		return "", Usagef("the token: %s is no file", name)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return "", Hint(Usagef("the token: others can read %s", name), "chmod 600 %s", name)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return "", Usagef("the token: %v", err)
	}
	return CheckToken(string(data), name)
}

// CheckToken refuses a token that could be guessed.
func CheckToken(text, from string) (string, error) {
	token := strings.TrimSpace(text)
	if len(token) < minToken {
		return "", Hint(Usagef("the token in %s is shorter than %d characters", from, minToken), "make one with: (umask 077; head -c 24 /dev/urandom | base64 > FILE)")
	}
	if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", Usagef("the token in %s is more than one word of plain letters, digits and signs", from)
	}
	return token, nil
}

// carry sends the command and prints what comes back, as it comes.
func (r *serverClient) carry(ctx context.Context, a *App, args []string) error {
	asked := web.Asked{Args: args, Width: a.Width}
	if a.ErrIsTerm && a.ErrWidth != nil {
		asked.ErrWidth = a.ErrWidth()
	}
	if slices.ContainsFunc(args, func(arg string) bool { return arg == "-" || strings.HasSuffix(arg, "=-") }) {
		data, err := a.ReadInput("-")
		if err != nil {
			return err
		}
		if asked.Stdin = string(data); !utf8.Valid(data) {
			asked.Stdin, asked.Stdin64 = "", data
		}
	}
	body, err := json.Marshal(asked)
	if err != nil {
		return err
	}
	if r.url.Scheme == "http" && !isLoopback(r.url.Hostname()) {
		a.Note("warning: the token travels to %s in the clear: use https", r.url.Host)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url.JoinPath("/api/v1/commands").String(), bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+r.token)
	req.Header.Set("Content-Type", "application/json")
	transport := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // it is one
	transport.ResponseHeaderTimeout = 30 * time.Second
	client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(req)
	if err != nil {
		var dial *net.OpError
		if errors.As(err, &dial) && dial.Op == "dial" || errors.As(err, new(*url.Error)) && strings.Contains(err.Error(), "tls:") {
			r.acts = false // it was not asked
		}
		return r.lost(ctx, a, fmt.Sprintf("the server at %s does not answer: %v", r.url.Host, errors.Unwrap(err)))
	}
	defer res.Body.Close()
	if res.StatusCode >= 500 && res.Header.Get(web.APIHeader) == "" { // a proxy, which may have passed it on
		return r.lost(ctx, a, fmt.Sprintf("%s answers %s", r.url.Host, res.Status))
	}
	if err := r.refused(res); err != nil {
		return err
	}
	return r.print(ctx, a, res.Body)
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// refused says why the server does not carry out the command.
func (r *serverClient) refused(res *http.Response) error {
	var why struct {
		Error, Hint string
		Status      int
	}
	switch {
	case res.StatusCode >= 300 && res.StatusCode < 400:
		err := remoteError{fmt.Sprintf("%s sends us on to %s, where the token may not go", r.url.Host, res.Header.Get("Location")), exitUnavailable}
		return Hint(err, "if that is your server, name it: --server URL")
	case res.Header.Get(web.APIHeader) == "":
		return Hint(remoteError{fmt.Sprintf("what answers at %s (%s) is no ralph serve, or an older one", r.url.Host, res.Status), exitUnavailable}, "see what it is: open %s in a browser", r.url)
	case res.StatusCode == http.StatusOK:
		return nil
	}
	if err := json.NewDecoder(io.LimitReader(res.Body, 1<<20)).Decode(&why); err != nil || why.Error == "" {
		return remoteError{fmt.Sprintf("%s answers %s", r.url.Host, res.Status), exitUnavailable}
	}
	err := remoteError{why.Error, why.Status}
	if res.StatusCode == http.StatusUnauthorized {
		return Hint(err, "its token is in the file that it was started with: --server-token-file FILE, or RALPH_SERVER_TOKEN")
	}
	if why.Hint == "" {
		return err
	}
	return Hint(err, "%s", why.Hint)
}

// print passes on what the command prints, until its end.
func (r *serverClient) print(ctx context.Context, a *App, from io.Reader) error {
	for in := json.NewDecoder(from); ; {
		var part web.Told
		if err := in.Decode(&part); err != nil {
			return r.lost(ctx, a, fmt.Sprintf("the server at %s went away before the command ended", r.url.Host))
		}
		if part.Exit != nil {
			if *part.Exit == ExitOK {
				return nil
			}
			return remoteStatus(*part.Exit)
		}
		_, oerr := io.WriteString(a.Stdout, part.Out+string(part.Out64))
		_, _ = io.WriteString(a.Stderr, part.Err+string(part.Err64)) // nobody can be told
		if oerr != nil && r.line.Name != "run" {
			return Unwritten(oerr)
		}
	}
}

// lost is a command of which the end is not known.
func (r *serverClient) lost(ctx context.Context, a *App, what string) error {
	again := "ralph --server " + r.url.String()
	switch {
	case ctx.Err() != nil && r.line.Name == "run":
		a.Note("the run continues on the server; stop it with: %s stop", again)
		return context.Cause(ctx)
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case r.line.Name == "run" && r.acts:
		return Hint(remoteError{what, ExitBug}, "a run that began continues; see with: %s status", again)
	case r.acts:
		return Hint(remoteError{what + "; the change may have happened", ExitBug}, "look before you repeat it: %s status", again)
	}
	return Hint(remoteError{what, exitUnavailable}, "start it where the project is: ralph serve; then repeat the command")
}
