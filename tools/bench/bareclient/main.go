// Command bareclient sends a prompt to a fresh process of an agent, again and again: the least that any
// client does for a task.
package main

import (
	"context"
	"errors"
	"log"
	"log/slog"
	"os"
	"os/exec"
	"strconv"

	"github.com/coder/acp-go-sdk"
)

// main takes the number of turns, the file of the prompt and the agent's command.
func main() {
	slog.SetDefault(slog.New(slog.DiscardHandler)) // the SDK says when a connection ends
	turns, err1 := strconv.Atoi(os.Args[1])
	prompt, err2 := os.ReadFile(os.Args[2])
	err := errors.Join(err1, err2)
	for range turns {
		err = errors.Join(err, turn(context.Background(), os.Args[3:], string(prompt)))
	}
	if err != nil {
		log.Fatal(err)
	}
}

func turn(ctx context.Context, argv []string, prompt string) error {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	stdin, err1 := cmd.StdinPipe()
	stdout, err2 := cmd.StdoutPipe()
	dir, err3 := os.Getwd()
	if err := errors.Join(err1, err2, err3, cmd.Start()); err != nil {
		return err
	}
	conn := acp.NewClientSideConnection(client{}, stdin, stdout)
	_, err1 = conn.Initialize(ctx, acp.InitializeRequest{ProtocolVersion: acp.ProtocolVersionNumber})
	session, err2 := conn.NewSession(ctx, acp.NewSessionRequest{Cwd: dir, McpServers: []acp.McpServer{}})
	_, err3 = conn.Prompt(ctx, acp.PromptRequest{SessionId: session.SessionId, Prompt: []acp.ContentBlock{acp.TextBlock(prompt)}})
	stdin.Close()
	<-conn.Done()
	return errors.Join(err1, err2, err3, cmd.Wait())
}

// client is what the SDK needs from a client that does nothing.
type client struct{ acp.Client }

func (client) SessionUpdate(context.Context, acp.SessionNotification) error { return nil }
