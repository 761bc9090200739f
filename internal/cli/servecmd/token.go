package servecmd

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ralph/dag"
	"ralph/internal/atomicfile"
	"ralph/internal/cli"
	"ralph/internal/cli/wiring"
	"ralph/internal/project"
	"ralph/internal/sandbox"
)

// hideToken has every sandbox hide the file of a token from now on, and refuses one that cannot be hidden. Where nothing confines
// agents, they can do what their user can, with the token and without it.
func hideToken(ctx context.Context, a *cli.App, s *cli.Session, file string) error {
	path, err := filepath.Abs(file)
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		return cli.Usagef("the token: %v", err)
	}
	mode := s.Config.Sandbox.Mode
	if mode == "require" {
		mode = "auto" // runs refuse that, not the server
	}
	list := append(wiring.TokenFiles(a), path)
	c, err := wiring.ConfinerOf(a, sandbox.Options{Mode: mode, Project: s.Project, Tokens: func() []string { return list }}, s.Config.Sandbox)
	if err != nil {
		return err
	}
	if c.Work.Level == sandbox.None {
		a.Note("warning: nothing confines agents here, so they can read the token in %s and do whatever you can: see docs/security.md", path)
	}
	if slices.Contains(wiring.TokenFiles(a), path) {
		return nil
	}
	runs, err := cli.Read(ctx, s, func(g *dag.Graph) ([]dag.Run, error) { return g.History.OpenRuns() })
	i := slices.IndexFunc(runs, func(r dag.Run) bool { return cli.Life(r.Process) == dag.Alive })
	if i >= 0 && c.Work.Level > sandbox.None && !strings.HasPrefix(path, cli.RealPath(cli.ServerFolder(a))+"/") {
		err = cli.Hint(fmt.Errorf("%w: %s is running, and its agents could read it", sandbox.ErrExposed, runs[i].ID), "move the token into %s, or start the server when the run has ended", cli.ServerFolder(a))
	}
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(p string) bool { _, err := os.Stat(p); return errors.Is(err, fs.ErrNotExist) })
	err = errors.New("no state folder")
	if filepath.IsAbs(wiring.TokenList(a)) && !strings.Contains(path, "\n") {
		err = atomicfile.Write(wiring.TokenList(a), []byte(strings.Join(list, "\n")+"\n"))
	}
	if err != nil && c.Work.Level > sandbox.None {
		return cli.Hint(fmt.Errorf("%w: %w", sandbox.ErrExposed, err), "set HOME or XDG_STATE_HOME to a folder that can be written")
	}
	return nil
}

// serverName is the host by which browsers of this machine reach the server of a project: its folder and a random word, which is
// kept where no agent can read it. It is empty for an address that such a name does not lead to.
func serverName(a *cli.App, p project.Project, at net.Addr) string {
	if tcp, ok := at.(*net.TCPAddr); !ok || !tcp.IP.IsUnspecified() && !tcp.IP.Equal(net.IPv4(127, 0, 0, 1)) && !tcp.IP.Equal(net.IPv6loopback) {
		return ""
	}
	file := filepath.Join(cli.ServerFolder(a), cli.FolderOf(cli.RealPath(p.Root))+".host")
	data, _ := os.ReadFile(file) // the first time there is none
	word := strings.TrimSpace(string(data))
	if len(word) != len(rand.Text()) {
		word = strings.ToLower(rand.Text())
		if filepath.IsAbs(file) {
			if err := atomicfile.Write(file, []byte(word+"\n")); err != nil {
				a.Note("warning: the server has another name the next time: %v", err)
			}
		}
	}
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(filepath.Base(p.Root)))
	return strings.TrimLeft(name[:min(len(name), 30)]+"-"+word, "-") + ".localhost"
}
