package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"

	"ralph/internal/sandbox"
)

// System is what commands take from the outside world.
type System struct {
	Stdin     io.Reader
	Stdout    io.Writer
	Stderr    io.Writer
	Getenv    func(string) string
	Environ   func() []string
	Getwd     func() (string, error)
	Now       func() time.Time
	Asks      bool // both ends of a conversation are a terminal
	OutIsTerm bool
	ErrIsTerm bool
	Width     int // of the terminal; 0 if there is none
	ErrWidth  func() int
	Signals   <-chan os.Signal
	Called    string // the name by which the program was called
	Release   string // the version and the commit that the linker set; empty if it set none
	Revision  string
	GoesOn    func() // a person was asked, and the next signal counts as the first again
	Exit      func(status int)

	Confinable sandbox.Level                         // the best that may be used
	Password   func(context.Context) (string, error) // reads a line from the terminal without showing it
	User       func() string                         // who runs the program; nil if nobody is to know
	Models     func(environ []string) (Served, bool) // looks for a model server; nil if nobody is to look
	Conceal    func() error                          // starts the program again with an environment that shows no credentials; nil if that was done
}

// UserConfig is where the user's own configuration is.
func (s System) UserConfig() string {
	if dir := s.Getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "ralph", "config.toml")
	}
	if home := s.Getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".config", "ralph", "config.toml")
	}
	return ""
}

// StateHome is where programs keep what is the user's and not a project's.
func (s System) StateHome() string {
	if dir := s.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(s.Getenv("HOME"), ".local", "state")
}

// Run carries out the command line that the program was started with, and returns the exit status.
func (a *App) Run(args []string) int {
	a.Signals, a.GoesOn = endAfterSecond(a.Signals, a.Exit)
	a.Redact.AddEnviron(a.Environ())
	ctx, stop := Interruptible(context.Background(), a, a.taken, NoticeTimeout)
	defer stop()
	return a.perform(ctx, args)
}

// perform carries out a command line, args[0] being the program, and returns the exit status. What the app prints from here
// on is redacted.
func (a *App) perform(ctx context.Context, args []string) int {
	clean := a.Redact.Writer(a.Stdout)
	out, exact := &results{to: clean}, &results{to: a.Stdout}
	a.Stdout, a.Exact, a.Stderr = out, exact, a.Redact.Whole(a.Stderr)
	defer cleanUp(a)
	argv, help, err := Permute(a.Root, args)
	switch {
	case err != nil:
	case help:
		_, err = io.WriteString(a.Stdout, a.help(argv[1:]))
	default:
		var done bool
		if done, err = runOnServer(ctx, a, argv); !done && err == nil {
			err = a.parser.RunContext(ctx, argv)
		}
	}
	if caught, ok := context.Cause(ctx).(CaughtSignal); err != nil && ok { //nolint:errorlint // set below, never wrapped
		err = caught
	}
	out.note(clean.Close()) // it held back what could have begun a secret
	if err == nil {
		err = Unwritten(errors.Join(out.err, exact.err))
	}
	if err == nil {
		return ExitOK
	}
	return a.Fail(err)
}

// Do carries out a command line in the middle of another command. Help that is asked for is not printed.
func (a *App) Do(ctx context.Context, args []string) (help bool, err error) {
	argv, help, err := Permute(a.Root, args)
	if help || err != nil {
		return help, err
	}
	return false, a.parser.RunContext(ctx, argv)
}

// cleanUp removes the temporary files of the command. What it cannot remove, ralph gc finds.
func cleanUp(a *App) {
	for _, remove := range a.AtEnd {
		if err := remove(); err != nil {
			a.Log.Warn().Err(err).Msg("clean up")
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
		r.err = OutputError{Text: fmt.Sprintf("write the result: %v", err), gone: errors.Is(err, syscall.EPIPE)}
	}
}

// OutputError is a result that could not be written.
type OutputError struct {
	Text string
	gone bool // the reader: it has seen enough
}

func (e OutputError) Error() string { return e.Text }

// Unwritten is the error of a result that could not be written, or nil if its reader has gone: most commands end with
// their reader, and a run continues without it.
func Unwritten(err error) error {
	var e OutputError
	if errors.As(err, &e) && e.gone {
		return nil
	}
	return err
}

// CaughtSignal is a signal that ended a command.
type CaughtSignal struct{ Signal os.Signal }

func (c CaughtSignal) Error() string { return fmt.Sprintf("caught %v", c.Signal) }

// status is what shells make of a death by signal.
func (c CaughtSignal) status() int {
	if s, ok := c.Signal.(syscall.Signal); ok {
		return 128 + int(s)
	}
	return ExitBug
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
					status := CaughtSignal{first}.status()
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

// NoticeTimeout is how long a command may take to notice that it was interrupted. What
// is stored is stored whole or not at all, so leaving at any time loses nothing.
const NoticeTimeout = time.Second

// Interruptible returns a context that the first signal ends, as its cause. The second one ends the program, as does
// patience, unless it is 0: a command may wait for input that never comes. Nothing happens after taken is closed or stop is called.
func Interruptible(parent context.Context, a *App, taken <-chan struct{}, patience time.Duration) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(parent))
	done := make(chan struct{})
	go func() {
		var caught CaughtSignal
		select {
		case caught.Signal = <-a.Signals:
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
		case <-a.Signals:
		}
		a.Exit(caught.status())
	}()
	return ctx, func() { close(done); cancel(nil) }
}

// TakeSignals lets a command deal with signals itself, from the first of its runs on.
func (a *App) TakeSignals() {
	select {
	case <-a.taken:
	default:
		close(a.taken)
	}
}

// Build is what the linker was told about a binary, or else what the toolchain knows about it.
type Build struct {
	Version  string  `json:"version"`
	Revision *string `json:"revision"`
	Go       string  `json:"go"`
	OS       string  `json:"os"`
	Arch     string  `json:"arch"`
	Build    string  `json:"build"` // machines that work for one run have the same
}

// Version is what the linker was told, or else what the toolchain knows about this binary.
func (s System) Version() Build {
	v := Build{Version: "devel", Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, Build: "devel"}
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
	if s.Release != "" {
		v.Version = s.Release
	}
	if s.Revision != "" {
		v.Revision = &s.Revision
	}
	v.Build = v.Version
	if v.Revision != nil {
		v.Build += " " + (*v.Revision)[:min(len(*v.Revision), 12)] + dirty
	}
	return v
}
