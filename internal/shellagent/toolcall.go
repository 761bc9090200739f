package shellagent

import (
	"context"
	"math"
	"strings"
	"time"

	acp "github.com/coder/acp-go-sdk"

	"ralph/internal/plain"
)

// toolCall is a running script as the client sees it: a terminal, and a tool
// call that shows its output.
type toolCall struct {
	turn
	id       acp.ToolCallId
	terminal string
}

func (c toolCall) start(ctx context.Context, j job) error {
	return c.update(ctx, acp.StartToolCall(c.id, j.title(),
		acp.WithStartKind(acp.ToolKindExecute),
		acp.WithStartStatus(acp.ToolCallStatusInProgress),
		acp.WithStartRawInput(map[string]any{"command": j.shell, "script": j.script}),
		acp.WithStartContent([]acp.ToolCallContent{acp.ToolTerminalRef(c.terminal)}),
	))
}

// wait returns when the script has ended, and shows its output meanwhile. On an
// error the result still holds the output seen so far.
func (c toolCall) wait(ctx context.Context) (result, error) {
	type exit struct {
		resp acp.WaitForTerminalExitResponse
		err  error
	}
	exited := make(chan exit, 1)
	go func() {
		resp, err := c.conn.WaitForTerminalExit(ctx, acp.WaitForTerminalExitRequest{SessionId: c.turn.id, TerminalId: c.terminal})
		exited <- exit{resp, err}
	}()
	pause := c.poll
	look := time.NewTimer(pause)
	defer look.Stop()
	var r result
	for {
		select {
		case e := <-exited:
			if e.err != nil {
				return r, e.err
			}
			output, err := c.output(ctx)
			if err != nil {
				return r, err
			}
			r = result{code: e.resp.ExitCode, output: output}
			if e.resp.Signal != nil {
				r.signal = *e.resp.Signal
			}
			return r, nil
		case <-look.C:
			// A failed look is no reason to end the script: its end is waited
			// for by another request.
			output, err := c.output(ctx)
			changed := err == nil && output != r.output
			if changed {
				r.output = output
				if err := c.show(ctx, acp.ToolCallStatusInProgress, output); err != nil {
					return r, err
				}
			}
			pause = longer(pause, changed)
			look.Reset(pause)
		}
	}
}

// mostPause is the longest pause between two looks at a script that prints.
const mostPause = 15 * time.Second

// longer returns the next pause between two looks. Every look is a sign of life
// to the client, so at a silent script it must be less and less often: silence
// then outlasts any idle timeout in the end, and a script that hangs is noticed.
func longer(pause time.Duration, changed bool) time.Duration {
	if pause > math.MaxInt64/2 {
		return pause
	}
	if changed {
		return min(2*pause, mostPause)
	}
	return 2 * pause
}

func (c toolCall) output(ctx context.Context) (string, error) {
	resp, err := c.conn.TerminalOutput(ctx, acp.TerminalOutputRequest{SessionId: c.turn.id, TerminalId: c.terminal})
	return resp.Output, err
}

func (c toolCall) end(ctx context.Context, r result) error {
	status := acp.ToolCallStatusFailed
	if r.ok() {
		status = acp.ToolCallStatusCompleted
	}
	return c.show(ctx, status, r.output)
}

// show sends the end of the output. An update replaces the content of the one
// before, so the terminal is named again.
func (c toolCall) show(ctx context.Context, status acp.ToolCallStatus, output string) error {
	content := []acp.ToolCallContent{acp.ToolTerminalRef(c.terminal)}
	if output != "" {
		content = append(content, acp.ToolContent(acp.TextBlock(lastBytes(output, shownLimit))))
	}
	return c.update(ctx, acp.UpdateToolCall(c.id, acp.WithUpdateStatus(status), acp.WithUpdateContent(content)))
}

// kill and release ask the client to; if it does not, the client's own end of
// the session does, so their errors change nothing.

func (c toolCall) kill(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, clientGrace)
	defer cancel()
	_, _ = c.conn.KillTerminal(ctx, acp.KillTerminalRequest{SessionId: c.turn.id, TerminalId: c.terminal})
}

func (c toolCall) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, clientGrace)
	defer cancel()
	_, _ = c.conn.ReleaseTerminal(ctx, acp.ReleaseTerminalRequest{SessionId: c.turn.id, TerminalId: c.terminal})
}

// lastBytes returns at most n bytes from the end of s, from the beginning of a
// line if that is not far, else of a rune.
func lastBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	s = plain.Tail(s, n)
	if nl := strings.IndexByte(s, '\n'); nl >= 0 && nl < n/2 {
		return s[nl+1:]
	}
	return s
}
