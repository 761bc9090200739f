// Package servecmd has the commands that wait for others: a server, its chats and webhooks, and schedules.
package servecmd

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"ralph/dag"
	"ralph/internal/cli"
	"ralph/internal/cli/wiring"
	"ralph/internal/proc"
	"ralph/internal/project"
	"ralph/internal/web"
)

// Serve is the command "ralph serve".
var Serve = cli.Command{
	Name: "serve", Short: "show the project in a browser; let it be steered from there and from other machines",
	Long: `Shows what runs, what failed and what waits for an answer, and carries out what you click there; each button
names its command. Runs that are started there continue when the server ends. Open the link that it prints: it
works once, and lets that browser in. An address that other machines reach needs a token, which opens the
pages, the API and ralph --server URL. Who has it can do what you can: give it to nobody you would not give a shell.`,
	Flags: []cli.Flag{
		{Name: "listen", Usage: "`ADDRESS` to listen on; port 0 is any that is free", Shown: project.Default().Serve.Listen + ", or serve.listen"},
		{Name: "token-file", Usage: "let in who has the token in `FILE`, which only you can read and no agent in a sandbox", Shown: "the variable that serve.token_env names"},
		cli.Bool("open", "open the link in the browser"),
		cli.Bool("read-only", "show everything and change nothing"),
	},
	Example: "ralph serve --open\nralph serve --listen 0.0.0.0:7447 --token-file ~/.local/state/ralph/serve/token", Exits: "1 refused (the address is in use), " + cli.Interrupted, Run: cli.InProject(runServe),
}

type serveOptions struct {
	Listen, TokenFile string
	Open, ReadOnly    bool
}

func runServe(ctx context.Context, a *cli.App, s *cli.Session, o serveOptions) error {
	if err := a.RefuseAgent(); err != nil {
		return err
	}
	a.Dir, a.Serves = s.Project.Root, true // wherever the process is
	config := s.Config.Serve
	if err := web.CheckAllow(config.Allow); err != nil {
		return err
	}
	a.Allow = config.Allow
	listen := cmp.Or(o.Listen, config.Listen)
	access, err := serveAccess(a, config, o, listen)
	if err == nil && o.TokenFile != "" {
		err = hideToken(ctx, a, s, o.TokenFile)
	}
	if err != nil {
		return err
	}
	clock, in, err := ServeEvents(ctx, a, s.Project)
	if err != nil {
		return err
	}
	if access.ReadOnly {
		in = nil
	}
	a.Shows, a.Looks = access.ReadOnly, access.ReadOnly
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", listen)
	if errors.Is(err, syscall.EADDRINUSE) {
		return cli.Hint(fmt.Errorf("%w: %s is in use, perhaps by another ralph serve", dag.ErrRefused, listen), "open http://%s, or choose another address, such as --listen 127.0.0.1:0", listen)
	}
	if err != nil {
		return cli.Hint(fmt.Errorf("%w: %w", dag.ErrRefused, err), "choose another address with --listen, such as 127.0.0.1:7448")
	}
	base, own := "http://"+reachable(l.Addr()), ""
	if access.Name = serverName(a, s.Project, l.Addr()); access.Name != "" {
		own = "http://" + access.Name + base[strings.LastIndex(base, ":"):]
	}
	sum := sha256.Sum256([]byte(s.Project.Root + "\x00" + l.Addr().String() + "\x00" + access.Name))
	access.Cookie = hex.EncodeToString(sum[:6])
	server, err := NewWeb(a, s.Project, access, in)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	jobs, end := context.WithCancel(ctx)
	defer end()
	if !access.ReadOnly { // both change something; what the clock has claimed is started before the server ends
		var clocks sync.WaitGroup
		clocks.Go(func() { clock(jobs) })
		chats := startChats(jobs, a, s)
		defer func() { end(); clocks.Wait(); chats() }()
	}
	greet(ctx, a, server, base, cmp.Or(own, base), access, o.Open)
	if err := server.Serve(ctx, l); err != nil && !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return context.Cause(ctx)
}

// NewWeb makes the server of a project.
func NewWeb(a *cli.App, p project.Project, access web.Access, in http.Handler) (*web.Server, error) {
	shown := wiring.NewDiffs(a)
	return web.New(web.Options{
		Name: filepath.Base(p.Root), Open: func(ctx context.Context) (*web.Project, error) { return openWeb(ctx, a, shown) }, Life: cli.Life, Now: a.Now, Redact: a.Redact.Text,
		Command: func(ctx context.Context, c web.Call) int { return carryWeb(ctx, a, c) },
		Parse:   func(args []string) (web.Line, error) { return cli.Understand(a, args) },
		Start:   func(ctx context.Context, args ...string) error { return beginRun(ctx, a, p, args) },
		Hint:    cli.HintFor,
		Warn:    func(text string) { a.Note("warning: %s", text) },
		Access:  access, In: in,
	})
}

// serveAccess is who may use the server. Beyond this machine everybody needs a token.
func serveAccess(a *cli.App, config project.ServeConfig, o serveOptions, listen string) (web.Access, error) {
	access := web.Access{Hosts: config.Hosts, ReadOnly: o.ReadOnly || config.ReadOnly, Confined: proc.Confined}
	at, err := net.ResolveTCPAddr("tcp", listen)
	if err != nil {
		return access, cli.Hint(cli.Usagef("--listen %s: %v", listen, err), "name an address and a port, such as 127.0.0.1:7447")
	}
	access.Public = !at.IP.IsLoopback()
	switch {
	case o.TokenFile != "":
		access.Token, err = cli.ReadToken(o.TokenFile)
	case config.TokenEnv != "" && a.Getenv(config.TokenEnv) == "":
		err = cli.Usagef("serve.token_env: the variable %s is not set", config.TokenEnv)
	case config.TokenEnv != "":
		access.Token, err = cli.CheckToken(a.Getenv(config.TokenEnv), config.TokenEnv)
	case access.Public:
		err = cli.Hint(cli.Usagef("other machines can reach %s: that needs a token, by --token-file or serve.token_env", listen),
			"make one with: (umask 077; mkdir -p %[1]s; head -c 24 /dev/urandom | base64 > %[1]s/token); then: ralph serve --listen %[2]s --token-file %[1]s/token", cli.ServerFolder(a), listen)
	}
	a.Redact.Add(access.Token)
	return access, err
}

// reachable is an address by which browsers reach a listener: one that listens everywhere is named by an address of this machine.
func reachable(at net.Addr) string {
	tcp, ok := at.(*net.TCPAddr)
	if !ok || !tcp.IP.IsUnspecified() {
		return at.String()
	}
	host := "127.0.0.1"
	addrs, _ := net.InterfaceAddrs() // without them, this machine at least
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && n.IP.IsGlobalUnicast() {
			host = n.IP.String()
			break
		}
	}
	return net.JoinHostPort(host, strconv.Itoa(tcp.Port))
}

// greet says where the server is and how to get in. On a terminal, Enter makes another link. Own is the address for browsers, and
// base the one for programs, and for browsers that do not find the other.
func greet(ctx context.Context, a *cli.App, server *web.Server, base, own string, access web.Access, opens bool) {
	if access.ReadOnly {
		a.Note("the server is read-only: it changes nothing")
	}
	link := server.Link()
	if access.Token != "" {
		a.Complain("open " + own + " and sign in with the token")
		if own != base {
			a.Complain("a browser that does not find that name opens " + base + "/sign-in instead; for RALPH_SERVER it is " + base)
		}
		if access.Public {
			a.Note("other machines reach it by an address of this one, and by the names in serve.hosts")
		}
	} else {
		sayLink(a, own, base, link)
	}
	if opens {
		if err := openBrowser(ctx, a, own+link); err != nil {
			a.Note("warning: the browser does not open: %v", err)
		}
	}
	if !a.Asks || access.Token != "" {
		return
	}
	a.Note("it lets one browser in; press Enter for another link, and Ctrl-C to end the server")
	readInBackground()
	go func() {
		for in := bufio.NewScanner(a.Stdin); in.Scan(); {
			sayLink(a, own, base, server.Link())
		}
	}()
}

func sayLink(a *cli.App, own, base, link string) {
	a.Complain("open this link: " + own + link)
	if own != base {
		a.Complain("or, in a browser that does not find it: " + base + link)
	}
}

// openWeb opens the project for a page.
func openWeb(ctx context.Context, a *cli.App, shown *wiring.Diffs) (*web.Project, error) {
	s, err := a.Open(ctx)
	if err != nil {
		return nil, err
	}
	s.Warn = func(error) {} // commands say so; a page that is looked at all night would, too
	return &web.Project{Project: s.Project, Config: s.Config, Store: s.Store, Version: s.DB.Version, Intact: s.DB.Intact, Diff: shown.Of(s), Close: s.Close}, nil
}
