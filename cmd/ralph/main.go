// Command ralph runs AI coding agents through a dependency graph of tasks. This
// package owns the command line: flags, wiring, output and exit statuses. What a
// command does is done by the packages it calls.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/term"
)

func main() {
	os.Exit(run(os.Args, fromOS()))
}

// system is what commands take from the outside world.
type system struct {
	stdin     io.Reader
	stdout    io.Writer
	stderr    io.Writer
	getenv    func(string) string
	getwd     func() (string, error)
	now       func() time.Time
	asks      bool // both ends of a conversation are a terminal
	outIsTerm bool
	errIsTerm bool
	width     int // of the terminal; 0 if there is none
}

func fromOS() system {
	s := system{
		stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr,
		getenv: os.Getenv, getwd: os.Getwd, now: time.Now,
		outIsTerm: term.IsTerminal(int(os.Stdout.Fd())),
		errIsTerm: term.IsTerminal(int(os.Stderr.Fd())),
	}
	s.asks = s.errIsTerm && term.IsTerminal(int(os.Stdin.Fd()))
	if s.outIsTerm {
		if width, _, err := term.GetSize(int(os.Stdout.Fd())); err == nil {
			s.width = width
		}
	}
	return s
}

// userConfig is where the user's own configuration is.
func (s system) userConfig() string {
	if dir := s.getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "ralph", "config.toml")
	}
	if home := s.getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".config", "ralph", "config.toml")
	}
	return ""
}

// run is the whole program: it returns the exit status.
func run(args []string, sys system) int {
	ctx, stop := signalContext()
	defer stop()
	a := newApp(sys)
	argv, err := permute(a.cli, args)
	if err == nil {
		err = a.cli.RunContext(ctx, argv)
	}
	if err == nil {
		return 0
	}
	if caught, ok := context.Cause(ctx).(caughtSignal); ok { //nolint:errorlint // set below, never wrapped
		return 128 + int(caught.signal.(syscall.Signal))
	}
	return a.fail(err)
}

// caughtSignal is why the context ended.
type caughtSignal struct{ signal os.Signal }

func (c caughtSignal) Error() string { return fmt.Sprintf("caught %v", c.signal) }

func signalContext() (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		select {
		case s := <-signals:
			cancel(caughtSignal{s})
		case <-done:
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(done)
		cancel(nil)
	}
}
