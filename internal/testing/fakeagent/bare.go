package fakeagent

import (
	"context"
	"os/exec"

	sdk "github.com/coder/acp-go-sdk"
)

// Bare does one handshake and one prompt with a plain SDK client and a plain
// process: what any client needs at least. Benchmarks compare ours with it.
func Bare(ctx context.Context, argv0, dir string, env []string, prompt string) error {
	cmd := exec.CommandContext(ctx, argv0)
	cmd.Env, cmd.Dir = env, dir
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	conn := sdk.NewClientSideConnection(bareClient{}, stdin, stdout)
	if _, err := conn.Initialize(ctx, sdk.InitializeRequest{ProtocolVersion: sdk.ProtocolVersionNumber}); err != nil {
		return err
	}
	session, err := conn.NewSession(ctx, sdk.NewSessionRequest{Cwd: dir, McpServers: []sdk.McpServer{}})
	if err != nil {
		return err
	}
	if _, err := conn.Prompt(ctx, sdk.PromptRequest{SessionId: session.SessionId, Prompt: []sdk.ContentBlock{sdk.TextBlock(prompt)}}); err != nil {
		return err
	}
	if err := stdin.Close(); err != nil {
		return err
	}
	<-conn.Done()
	return cmd.Wait()
}

// bareClient is what the SDK needs from a client that does nothing.
type bareClient struct{ sdk.Client }

func (bareClient) SessionUpdate(context.Context, sdk.SessionNotification) error { return nil }
