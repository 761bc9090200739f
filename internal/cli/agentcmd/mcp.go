package agentcmd

import (
	"context"
	"fmt"
	"io"

	"ralph/dag"
	"ralph/internal/cli"
	"ralph/internal/mcp"
)

// MCP is the command "ralph mcp".
var MCP = cli.Command{
	Name: "mcp", Short: "serve tools for planning to an assistant, over the Model Context Protocol",
	Long: `An assistant that speaks MCP starts it, and calls its tools on stdin and stdout: add, list, show, change and
search tasks, the journal and what the project has learned. They do what the commands of the same names do.
ralph starts it itself for the agents of a run.`,
	Example: "claude mcp add ralph -- ralph mcp", Exits: "1 refused (the run that started it has ended, or what the client sends is no message)",
	Run: cli.Action(runMCP),
}

func runMCP(ctx context.Context, a *cli.App, _ cli.PlainOptions) error {
	if socket := a.Getenv(mcp.SocketVariable); socket != "" {
		if err := mcp.Pipe(ctx, a.Stdin, a.Raw, socket, a.Getenv(mcp.TokenVariable)); err != nil {
			return fmt.Errorf("%w: %w", dag.ErrRefused, err)
		}
		return nil
	}
	if _, err := a.FindProject(); err != nil {
		return err
	}
	session := mcp.New(mcp.Options{Command: cli.Answering(a, nil), Version: a.Version().Version, Now: a.Now})
	if err := session.Serve(ctx, stdio{a.Stdin, a.Raw}); err != nil {
		return fmt.Errorf("mcp: %w: the client sent what is no message: %w", dag.ErrRefused, err)
	}
	return nil
}

// stdio is a connection on stdin and stdout.
type stdio struct {
	io.Reader
	io.Writer
}

// Close leaves both to the process.
func (stdio) Close() error { return nil }
