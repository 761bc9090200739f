package modelagent

import (
	"context"

	acp "github.com/coder/acp-go-sdk"
)

// toolbox runs the calls of a model in one folder.
type toolbox struct {
	dir string
}

// action is what a call is about to do, as people and rules are told of it.
type action struct {
	Title string
	Kind  acp.ToolKind
	Path  string // of the file that it is about, absolute; empty if it is about none
	// Old and New are what the file holds before and after; nil if the call changes none. Old is nil for a new file.
	Old, New *string
	// Asks says that somebody has to allow it first; Alone, that it has effects, and so nothing else may run meanwhile.
	Asks, Alone bool
}

// openToolbox offers the tools for a folder. A server that does not start is left out, with a warning that says why.
// Commands get env, which has no credentials of the agent's.
func openToolbox(_ context.Context, dir string, _ []string, _ []acp.McpServer) (b *toolbox, warnings []string) {
	return &toolbox{dir: dir}, nil
}

// specs describes the tools to the model, always in the same order.
func (b *toolbox) specs() []Spec { return nil }

// describe says what a call is about to do. It fails if the call makes no sense: an unknown tool, or bad arguments.
// The error is what the model is told.
func (b *toolbox) describe(_ Block) (action, error) { return action{}, nil }

// run does a call and returns its result, also where the call failed. It returns soon after ctx ends, with everything
// ended that it started.
func (b *toolbox) run(_ context.Context, call Block) Block {
	return Block{Kind: Result, ID: call.ID, Name: call.Name}
}

// close ends the servers.
func (b *toolbox) close() {}
