package servecmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"ralph/internal/cli"
	"ralph/internal/proc"
	"ralph/internal/project"
	"ralph/internal/testing/failpoint"
	"ralph/internal/web"
)

// carryWeb carries out a command for a page, the API or another ralph.
func carryWeb(ctx context.Context, a *cli.App, c web.Call) int {
	if line, err := cli.LineOf(a.Root, c.Args); err == nil {
		if _, starts, _ := web.Ask(line); starts {
			return runApart(ctx, a, c)
		}
	}
	failpoint.Hit("before-command")
	status := a.Carry(ctx, cli.Call{
		Args: c.Args, Stdin: c.Stdin, Stdout: c.Stdout, Stderr: c.Stderr, Who: c.Who, Via: c.Via,
		Outside: true, Width: c.Width, ErrWidth: c.ErrWidth,
	})
	failpoint.Hit("after-command")
	return status
}

// runApart starts a run in a process of its own and passes on what it prints until it ends. If the reader goes away, or this
// server does, the run goes on.
func runApart(ctx context.Context, a *cli.App, c web.Call) int {
	file, err := os.Executable()
	if err != nil {
		fmt.Fprintln(c.Stderr, "ralph:", err)
		return cli.ExitBug
	}
	cmd := exec.Command(file, append([]string{"--project=" + a.Dir}, c.Args...)...)
	cmd.Args[0], cmd.Dir = a.Called, a.Dir
	cmd.Env = startedEnviron(a, project.Project{Root: a.Dir})
	cmd.Stdout, cmd.Stderr = goesOn{c.Stdout}, goesOn{c.Stderr}
	proc.Apart(cmd)
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(c.Stderr, "ralph:", err)
		return cli.ExitBug
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case <-ctx.Done():
		return cli.ExitBug // nobody is there to be told
	case err := <-ended:
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			return max(exit.ExitCode(), cli.ExitRefused)
		}
		return cli.ExitOK
	}
}

// GoesOn takes everything, also when its reader has gone: what a run prints must not stop it.
type goesOn struct{ to io.Writer }

func (w goesOn) Write(p []byte) (int, error) {
	_, _ = w.to.Write(p)
	return len(p), nil
}

// openBrowser shows an address in the browser. The key of a link must not stand in the list of processes, where others see it,
// so the browser opens a file that only the user can read, and that leads there.
func openBrowser(ctx context.Context, a *cli.App, address string) error {
	dir := filepath.Join(a.StateHome(), "ralph")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, "open-*.html") // 0600
	if err != nil {
		return err
	}
	a.AtEnd = append(a.AtEnd, func() error { return os.Remove(f.Name()) })
	_, err = fmt.Fprintf(f, "<!doctype html><title>ralph</title><meta http-equiv=\"refresh\" content=\"0; url=%s\"><a href=\"%s\">ralph</a>\n", address, address)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	opener := map[string][]string{"darwin": {"open"}, "windows": {"rundll32", "url.dll,FileProtocolHandler"}}[runtime.GOOS]
	if opener == nil {
		opener = []string{"xdg-open"}
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), opener[0], append(opener[1:], f.Name())...)
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { _ = cmd.Wait() }() // the page shows whether it opened
	return nil
}
