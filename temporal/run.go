package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"ralph/internal/human"
	"ralph/internal/project"
)

// Larger histories are drained and continued as new. The server ends those of 51,200 events or 50 MB.
var maxEvents, maxBytes = 20_000, 20 << 20

// valued finds the flags that take a value in what ralph run --help says.
var valued = regexp.MustCompile(`(?m)^  --([a-z-]+)(?:, -([a-z]))? [A-Z]`)

// target is what a run is of, for the ID of its workflow. Everything else in the arguments is for ralph run to understand,
// so its help is asked which words are values of flags, when one stands behind a flag.
func target(args []string, help func() (string, error)) (string, error) {
	takes := map[string]bool{"": true, "feature": true, "task": true, "tag": true}
	if slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "-") }) {
		text, err := help()
		if err != nil {
			return "", err
		}
		for _, found := range valued.FindAllStringSubmatch(text, -1) {
			takes[found[1]], takes[found[2]] = true, true
		}
	}
	var names []string
	for i := 0; i < len(args); i++ {
		if !strings.HasPrefix(args[i], "-") {
			names = append(names, args[i])
			continue
		}
		flag, value, joined := strings.Cut(strings.TrimLeft(args[i], "-"), "=")
		if !joined && takes[flag] && i+1 < len(args) {
			i++
			value = args[i]
		}
		if slices.Contains([]string{"feature", "task", "tag"}, flag) && value != "" {
			names = append(names, flag+"-"+value)
		}
	}
	if len(names) > 1 {
		return "", usageError("what is to be run, " + human.List(names, 5) + "? One TARGET, --feature, --task or --tag can be given")
	}
	return append(names, "all")[0], nil
}

func hasFlag(args []string, names ...string) bool {
	return slices.ContainsFunc(args, func(arg string) bool {
		flag, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		return strings.HasPrefix(arg, "-") && slices.Contains(names, flag)
	})
}

// runCommand is ralph run with attempts on other machines. Its exit status is that of ralph run.
func runCommand(ctx context.Context, s *setup, args []string) error {
	r := &ralph{}
	path, err := r.path()
	if err != nil {
		return err
	}
	name, err := target(args, func() (string, error) {
		ran, err := r.command(ctx, s.project.Root, []string{"run", "--help"})
		return ran.Stdout, err
	})
	if err != nil {
		return err
	}
	id := "ralph/" + s.name() + "/" + name
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	argv := append([]string{"dispatch"}, args...)
	if !hasFlag(args, "jobs") {
		argv = append(argv, "--jobs", strconv.Itoa(s.conf.Jobs))
	}
	if err := s.waitFor(ctx, signals); err != nil {
		return err
	}
	go s.srv.watch(ctx)
	dir, err := os.MkdirTemp("", "ralph-") // short: the path of a socket has at most about 100 bytes
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	socket := filepath.Join(dir, "run")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	defer func() { _ = listener.Close() }()
	host, _ := os.Hostname()
	h := newHome(s.srv, id, host+":"+s.project.Root, s.project.Root, r, Input{
		Queue: s.conf.Queue, Needs: s.conf.Needs, Heartbeat: s.conf.Heartbeat.Std(), MaxEvents: maxEvents, MaxBytes: maxBytes,
	})
	if err := retry(ctx, h.precheck); err != nil {
		return errors.New(plain(err))
	}
	argv = append(argv, "--socket", socket, "--name", id+" in namespace "+s.srv.ns) // wherever the server is
	served := make(chan error, 1)
	go func() {
		c, err := listener.Accept()
		if err == nil {
			err = h.serve(ctx, c)
			c.Close() // a run that we cannot serve leaves
		} else {
			err = nil // it ended without a word to us
		}
		served <- err
	}()
	return supervise(cancel, signals, func() error { _ = listener.Close(); return <-served }, exec.Command(path, argv...)) //nolint:noctx // signals end it
}

// supervise runs ralph with our terminal and passes signals on, and then waits for what served it.
func supervise(cancel func(), signals <-chan os.Signal, served func() error, cmd *exec.Cmd) error {
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start ralph run: %w", err)
	}
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }()
	var err error
	for running := true; running; {
		select {
		case sig := <-signals:
			if sig == syscall.SIGTERM || !foreground() { // the terminal sends the others to ralph as well
				_ = cmd.Process.Signal(sig)
			}
		case err = <-exited:
			running = false
		}
	}
	done := make(chan error, 1)
	go func() { done <- served() }()
	select {
	case <-signals: // it is not worth the wait
		cancel()
	case serr := <-done:
		if serr != nil {
			return serr
		}
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			return exitError{status: 128 + int(status.Signal())}
		}
		return exitError{status: exit.ExitCode()}
	}
	return err
}

// waitFor waits for the server, or for a signal.
func (s *setup) waitFor(ctx context.Context, signals <-chan os.Signal) error {
	waited := make(chan error, 1)
	go func() { waited <- s.srv.wait(ctx) }()
	select {
	case sig := <-signals:
		return interrupted(sig)
	case err := <-waited:
		return err
	}
}

func interrupted(sig os.Signal) error {
	if n, ok := sig.(syscall.Signal); ok {
		return exitError{status: 128 + int(n)}
	}
	return exitError{status: 130}
}

// setup is what every command begins with.
type setup struct {
	project project.Project
	named   string // the name of the project at home, if it differs from its folder's here
	run     string // the ID of the workflow that is meant, if there are several
	conf    project.Temporal
	srv     *server
}

func (s *setup) name() string { return cmp.Or(s.named, filepath.Base(s.project.Root)) }
