package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"ralph/internal/outbox"
	"ralph/internal/proc"
)

// command runs a command line with the message as JSON on stdin and its parts in
// the environment.
func (n *Notifier) command(line string) send {
	return func(ctx context.Context, m Message) error {
		input, err := json.Marshal(m)
		if err != nil {
			return outbox.Never(err)
		}
		env := append(slices.Clone(n.opts.Env),
			"RALPH_NOTIFY_EVENT="+m.Event, "RALPH_NOTIFY_TITLE="+m.Title, "RALPH_NOTIFY_TEXT="+m.Text, "RALPH_NOTIFY_PROJECT="+m.Project,
			"RALPH_NOTIFY_RUN="+m.Run, "RALPH_NOTIFY_TASK="+m.Task, "RALPH_NOTIFY_OUTCOME="+m.Outcome)
		return n.run(ctx, []string{"sh", "-c", line}, env, append(input, '\n'))
	}
}

// run runs a command to its end, or ends it with everything that it started.
func (n *Notifier) run(ctx context.Context, argv, env []string, input []byte) error {
	in, feed, err := os.Pipe()
	if err != nil {
		return err
	}
	out, sink, err := os.Pipe()
	if err != nil {
		in.Close()
		feed.Close()
		return err
	}
	defer out.Close()
	p, err := proc.Start(proc.Spec{Argv: argv, Dir: n.opts.Dir, Env: env, Stdin: in, Stdout: sink, Stderr: sink})
	in.Close()
	sink.Close()
	if err != nil {
		feed.Close()
		return outbox.Never(err)
	}
	fed, said := make(chan struct{}), make(chan string, 1)
	go func() {
		defer close(fed)
		_, _ = feed.Write(input) // a command need not read it
		feed.Close()
	}()
	go func() { said <- beginning(out) }()
	var cause error
	select {
	case <-p.Done():
	case <-ctx.Done():
		cause = context.Cause(ctx)
		if errors.Is(cause, context.DeadlineExceeded) {
			cause = fmt.Errorf("it did not end within %s", n.opts.Timeout)
		}
		_ = p.Kill() // Wait reports what survives
	}
	exit, err := p.Wait()
	<-fed
	text := <-said
	switch {
	case cause != nil:
		return errors.Join(cause, err)
	case err != nil:
		return err
	case !exit.Ok():
		return errors.New(strings.TrimSuffix(exit.String()+": "+text, ": "))
	}
	return nil
}

// beginning is the first line of what a command says. It reads everything, or the
// command would wait.
func beginning(r io.Reader) string {
	var b bytes.Buffer
	buf := make([]byte, 4<<10)
	for {
		n, err := r.Read(buf)
		if room := 4<<10 - b.Len(); room > 0 {
			b.Write(buf[:min(n, room)])
		}
		if err != nil {
			return line(b.String())
		}
	}
}
