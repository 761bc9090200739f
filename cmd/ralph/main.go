// Command ralph runs AI coding agents through a dependency graph of tasks. This
// package owns the command line: flags, wiring, output and exit statuses. What a
// command does is done by the packages it calls.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"os/user"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/term"

	"ralph/internal/proc"
	_ "ralph/internal/roomy" // before everything else
	"ralph/internal/sandbox"
)

func main() {
	proc.RunHelper(sandbox.Confine) // the same binary guards the processes it starts
	os.Exit(run(os.Args, fromOS()))
}

// system is what commands take from the outside world.
type system struct {
	stdin     io.Reader
	stdout    io.Writer
	stderr    io.Writer
	getenv    func(string) string
	environ   func() []string
	getwd     func() (string, error)
	now       func() time.Time
	asks      bool // both ends of a conversation are a terminal
	outIsTerm bool
	errIsTerm bool
	width     int // of the terminal; 0 if there is none
	errWidth  func() int
	signals   <-chan os.Signal
	release   string // the version and the commit that the linker set; empty if it set none
	revision  string
	goesOn    func() // a person was asked, and the next signal counts as the first again
	exit      func(status int)

	confinable sandbox.Level                         // the best that may be used
	password   func(context.Context) (string, error) // reads a line from the terminal without showing it
	user       func() string                         // who runs the program; nil if nobody is to know
	models     func(environ []string) (served, bool) // looks for a model server; nil if nobody is to look
	conceal    func() error                          // starts the program again with an environment that shows no credentials; nil if that was done
}

func fromOS() system {
	concealed := receiveCredentials()
	s := system{
		stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr,
		getenv: os.Getenv, environ: os.Environ, getwd: os.Getwd, now: time.Now, exit: os.Exit, release: release, revision: revision, confinable: sandbox.Namespaces,
		outIsTerm: term.IsTerminal(int(os.Stdout.Fd())),
		errIsTerm: term.IsTerminal(int(os.Stderr.Fd())),
	}
	s.errWidth = func() int { return widthOf(os.Stderr) }
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	s.signals = signals
	s.asks = s.errIsTerm && term.IsTerminal(int(os.Stdin.Fd()))
	s.width = widthOf(os.Stdout)
	s.user, s.models = userName, lookForModels
	if !concealed {
		s.conceal = startWithoutCredentials
	}
	s.password = func(ctx context.Context) (string, error) { return readPassword(ctx, int(os.Stdin.Fd())) }
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

// stateHome is where programs keep what is the user's and not a project's.
func (s system) stateHome() string {
	if dir := s.getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(s.getenv("HOME"), ".local", "state")
}

// run is the whole program: it returns the exit status.
func run(args []string, sys system) int { return newApp(sys).run(args) }

// run carries out the command line that the program was started with, and returns the exit status.
func (a *app) run(args []string) int {
	a.signals, a.goesOn = endAfterSecond(a.signals, a.exit)
	a.redact.AddEnviron(a.environ())
	ctx, stop := interruptible(context.Background(), a, a.taken, noticeTimeout)
	defer stop()
	return a.perform(ctx, args)
}

// perform carries out a command line, args[0] being the program, and returns the exit status. What the app prints from here
// on is redacted.
func (a *app) perform(ctx context.Context, args []string) int {
	clean := a.redact.Writer(a.stdout)
	out, exact := &results{to: clean}, &results{to: a.stdout}
	a.stdout, a.exact, a.stderr = out, exact, a.redact.Whole(a.stderr)
	defer cleanUp(a)
	argv, help, err := permute(a.root, args)
	switch {
	case err != nil:
	case help:
		_, err = io.WriteString(a.stdout, a.help(argv[1:]))
	default:
		var done bool
		if done, err = elsewhere(ctx, a, argv); !done && err == nil {
			err = a.cli.RunContext(ctx, argv)
		}
	}
	if caught, ok := context.Cause(ctx).(caughtSignal); err != nil && ok { //nolint:errorlint // set below, never wrapped
		err = caught
	}
	out.note(clean.Close()) // it held back what could have begun a secret
	if err == nil {
		err = unwritten(errors.Join(out.err, exact.err))
	}
	if err == nil {
		return exitOK
	}
	return a.fail(err)
}

// do carries out a command line in the middle of another command. Help that is asked for is not printed.
func (a *app) do(ctx context.Context, args []string) (help bool, err error) {
	argv, help, err := permute(a.root, args)
	if help || err != nil {
		return help, err
	}
	return false, a.cli.RunContext(ctx, argv)
}

// cleanUp removes the temporary files of the command. What it cannot remove, ralph gc finds.
func cleanUp(a *app) {
	for _, remove := range a.atEnd {
		if err := remove(); err != nil {
			a.log.Warn().Err(err).Msg("clean up")
		}
	}
}

// results is stdout. It remembers that something could not be written, so that no
// command calls that a success, and hides the cause, which is no trouble with the database.
type results struct {
	to  io.Writer
	err error
}

func (r *results) Write(p []byte) (int, error) {
	n, err := r.to.Write(p)
	r.note(err)
	return n, r.err
}

func (r *results) note(err error) {
	if err != nil && r.err == nil {
		r.err = outputError{text: fmt.Sprintf("write the result: %v", err), gone: errors.Is(err, syscall.EPIPE)}
	}
}

type outputError struct {
	text string
	gone bool // the reader: it has seen enough
}

func (e outputError) Error() string { return e.text }

// unwritten is the error of a result that could not be written, or nil if its reader has gone: most commands end with
// their reader, and a run continues without it.
func unwritten(err error) error {
	var e outputError
	if errors.As(err, &e) && e.gone {
		return nil
	}
	return err
}

// caughtSignal is a signal that ended a command.
type caughtSignal struct{ signal os.Signal }

func (c caughtSignal) Error() string { return fmt.Sprintf("caught %v", c.signal) }

// status is what shells make of a death by signal.
func (c caughtSignal) status() int {
	if s, ok := c.signal.(syscall.Signal); ok {
		return 128 + int(s)
	}
	return exitBug
}

// killTimeout is how long the program goes on after the second signal. Something may hold it up that no context ends.
const killTimeout = 1500 * time.Millisecond

// endAfterSecond passes signals on, and ends the program soon after the second, whatever it is doing: what is stored is stored
// whole or not at all. After forget is called the program goes on, and the next one is the first.
func endAfterSecond(signals <-chan os.Signal, exit func(status int)) (passed <-chan os.Signal, forget func()) {
	to, forgotten := make(chan os.Signal, 8), make(chan struct{})
	go func() {
		var first os.Signal
		var end *time.Timer
		for {
			select {
			case <-forgotten:
				if end != nil {
					end.Stop()
				}
				first, end = nil, nil
			case s := <-signals:
				if first == nil {
					first = s
				} else if end == nil {
					status := caughtSignal{first}.status()
					end = time.AfterFunc(killTimeout, func() { exit(status) })
				}
				select {
				case to <- s:
				default: // as for signal.Notify
				}
			}
		}
	}()
	return to, func() { forgotten <- struct{}{} }
}

// noticeTimeout is how long a command may take to notice that it was interrupted. What
// is stored is stored whole or not at all, so leaving at any time loses nothing.
const noticeTimeout = time.Second

// interruptible returns a context that the first signal ends, as its cause. The second one ends the program, as does
// patience, unless it is 0: a command may wait for input that never comes. Nothing happens after taken is closed or stop is called.
func interruptible(parent context.Context, a *app, taken <-chan struct{}, patience time.Duration) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(parent))
	done := make(chan struct{})
	go func() {
		var caught caughtSignal
		select {
		case caught.signal = <-a.signals:
			cancel(caught)
		case <-taken:
			return
		case <-done:
			return
		}
		var over <-chan time.Time
		if patience > 0 {
			over = time.After(patience)
		}
		select {
		case <-done:
			return
		case <-over:
		case <-a.signals:
		}
		a.exit(caught.status())
	}()
	return ctx, func() { close(done); cancel(nil) }
}

// takeSignals lets a command deal with signals itself, from the first of its runs on.
func (a *app) takeSignals() {
	select {
	case <-a.taken:
	default:
		close(a.taken)
	}
}

var versionCommand = command{
	name: "version", short: "print the version", flags: []flagSpec{jsonFlag},
	example: "ralph version --json", run: action(runVersion),
}

func runVersion(_ context.Context, a *app, o plainOptions) error {
	v := a.version()
	if o.JSON {
		return a.printJSON(v)
	}
	return written(fmt.Fprintf(a.stdout, "ralph %s (%s, %s/%s)\n", v.Version, v.Go, v.OS, v.Arch))
}

type versionJSON struct {
	Version  string  `json:"version"`
	Revision *string `json:"revision"`
	Go       string  `json:"go"`
	OS       string  `json:"os"`
	Arch     string  `json:"arch"`
	Build    string  `json:"build"` // machines that work for one run have the same
}

// release and revision are what a release is built as: go build -ldflags '-X main.release=v1.2.3 -X main.revision=1b2c...'. Only
// the linker sets them. They are in it also if it was built where there is no git, and from the same bytes in each folder.
var release, revision string

// version is what the linker was told, or else what the toolchain knows about this binary.
func (s system) version() versionJSON {
	v := versionJSON{Version: "devel", Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, Build: "devel"}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	dirty := ""
	if info.Main.Version != "" && info.Main.Version != "(devel)" {
		v.Version = info.Main.Version
	}
	for _, set := range info.Settings {
		if set.Key == "vcs.revision" {
			v.Revision = &set.Value
		}
		if set.Key == "vcs.modified" && set.Value == "true" {
			dirty = "+"
		}
	}
	if s.release != "" {
		v.Version = s.release
	}
	if s.revision != "" {
		v.Revision = &s.revision
	}
	v.Build = v.Version
	if v.Revision != nil {
		v.Build += " " + (*v.Revision)[:min(len(*v.Revision), 12)] + dirty
	}
	return v
}
