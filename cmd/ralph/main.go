// Command ralph runs AI coding agents through a dependency graph of tasks. This
// package owns what the operating system gives and the table of commands, which
// are in the packages below internal/cli.
package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"os/user"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/term"

	"ralph/internal/cli"
	"ralph/internal/modelagent"
	"ralph/internal/proc"
	_ "ralph/internal/roomy"
	"ralph/internal/sandbox"
	"ralph/internal/seq"
)

// lookForModels asks the servers that are usual on this machine for their models, at most for a moment.
func lookForModels(environ []string) (cli.Served, bool) {
	ctx, cancel := context.WithTimeout(context.Background(), modelagent.Glance)
	defer cancel()
	url, models, found := modelagent.LocalServer(ctx, environ)
	return cli.Served{URL: url, Models: seq.Map(models, func(m modelagent.Model) string { return m.ID })}, found
}

func main() {
	proc.RunHelper(sandbox.Confine) // the same binary guards the processes it starts
	os.Exit(run(os.Args, fromOS()))
}

func fromOS() cli.System {
	concealed := receiveCredentials()
	s := cli.System{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Getenv: os.Getenv, Environ: os.Environ, Getwd: os.Getwd, Now: time.Now, Exit: os.Exit, Called: os.Args[0], Release: release, Revision: revision, Confinable: sandbox.Namespaces,
		OutIsTerm: term.IsTerminal(int(os.Stdout.Fd())),
		ErrIsTerm: term.IsTerminal(int(os.Stderr.Fd())),
	}
	s.ErrWidth = func() int { return widthOf(os.Stderr) }
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	s.Signals = signals
	s.Asks = s.ErrIsTerm && term.IsTerminal(int(os.Stdin.Fd()))
	s.Width = widthOf(os.Stdout)
	s.User, s.Models = userName, lookForModels
	if !concealed {
		s.Conceal = startWithoutCredentials
	}
	s.Password = func(ctx context.Context) (string, error) { return readPassword(ctx, int(os.Stdin.Fd())) }
	return s
}

// readPassword reads a line without showing it. Who interrupts it gets a terminal back that shows what is typed.
func readPassword(ctx context.Context, fd int) (text string, err error) {
	before, err := term.GetState(fd)
	if err != nil {
		return "", err
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		var line []byte
		line, err = term.ReadPassword(fd)
		text = string(line)
	}()
	select {
	case <-done:
		return text, err
	case <-ctx.Done():
		return "", errors.Join(context.Cause(ctx), term.Restore(fd, before))
	}
}

// userName is the operating system's name for who runs the program, or its number.
func userName() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return "user " + strconv.Itoa(os.Getuid())
}

// widthOf is that of a terminal; 0 for what is none.
func widthOf(f *os.File) int {
	width, _, _ := term.GetSize(int(f.Fd())) // an error says the same
	return width
}

// release and revision are what a release is built as: go build -ldflags '-X main.release=v1.2.3 -X main.revision=1b2c...'. Only
// the linker sets them. They are in it also if it was built where there is no git, and from the same bytes in each folder.
var release, revision string
