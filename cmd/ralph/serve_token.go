package main

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
	"ralph/internal/project"
	"ralph/internal/sandbox"
)

// serverFolder has what servers keep from agents: every sandbox hides it. Tokens belong there. The paths of all tokens are in a
// file of it, which every run reads, so that those in other folders are hidden, too.
func serverFolder(a *app) string { return filepath.Join(a.stateHome(), "ralph", "serve") }

func tokenList(a *app) string { return filepath.Join(serverFolder(a), "token-files") }

// tokenFiles are the files with tokens with which servers of the user were started.
func tokenFiles(a *app) []string {
	data, _ := os.ReadFile(tokenList(a)) // without it there are none
	return strings.FieldsFunc(string(data), func(r rune) bool { return r == '\n' })
}

// hideToken has every sandbox hide the file of a token from now on, and refuses one that cannot be hidden. Where nothing confines
// agents, they can do what their user can, with the token and without it.
func hideToken(ctx context.Context, a *app, s *session, file string) error {
	path, err := filepath.Abs(file)
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		return usagef("the token: %v", err)
	}
	mode := s.config.Sandbox.Mode
	if mode == "require" {
		mode = "auto" // runs refuse that, not the server
	}
	list := append(tokenFiles(a), path)
	c, err := confinerOf(a, sandbox.Options{Mode: mode, Project: s.project, Tokens: func() []string { return list }}, s.config.Sandbox)
	if err != nil {
		return err
	}
	if c.Work.Level == sandbox.None {
		a.note("warning: nothing confines agents here, so they can read the token in %s and do whatever you can: see docs/security.md", path)
	}
	if slices.Contains(tokenFiles(a), path) {
		return nil
	}
	runs, err := look(ctx, s, func(g *dag.Graph) ([]dag.Run, error) { return g.History.OpenRuns() })
	i := slices.IndexFunc(runs, func(r dag.Run) bool { return life(r.Process) == dag.Alive })
	if i >= 0 && c.Work.Level > sandbox.None && !strings.HasPrefix(path, realPath(serverFolder(a))+"/") {
		err = hint(fmt.Errorf("%w: %s is running, and its agents could read it", sandbox.ErrExposed, runs[i].ID), "move the token into %s, or start the server when the run has ended", serverFolder(a))
	}
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(p string) bool { _, err := os.Stat(p); return errors.Is(err, fs.ErrNotExist) })
	err = errors.New("no state folder")
	if filepath.IsAbs(tokenList(a)) && !strings.Contains(path, "\n") {
		err = atomicfile.Write(tokenList(a), []byte(strings.Join(list, "\n")+"\n"))
	}
	if err != nil && c.Work.Level > sandbox.None {
		return hint(fmt.Errorf("%w: %w", sandbox.ErrExposed, err), "set HOME or XDG_STATE_HOME to a folder that can be written")
	}
	return nil
}

// serverName is the host by which browsers of this machine reach the server of a project: its folder and a random word, which is
// kept where no agent can read it. It is empty for an address that such a name does not lead to.
func serverName(a *app, p project.Project, at net.Addr) string {
	if tcp, ok := at.(*net.TCPAddr); !ok || !tcp.IP.IsUnspecified() && !tcp.IP.Equal(net.IPv4(127, 0, 0, 1)) && !tcp.IP.Equal(net.IPv6loopback) {
		return ""
	}
	file := filepath.Join(serverFolder(a), folderOf(realPath(p.Root))+".host")
	data, _ := os.ReadFile(file) // the first time there is none
	word := strings.TrimSpace(string(data))
	if len(word) != len(rand.Text()) {
		word = strings.ToLower(rand.Text())
		if filepath.IsAbs(file) {
			if err := atomicfile.Write(file, []byte(word+"\n")); err != nil {
				a.note("warning: the server has another name the next time: %v", err)
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
