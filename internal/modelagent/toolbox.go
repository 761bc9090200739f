package modelagent

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	acp "github.com/coder/acp-go-sdk"

	"ralph/internal/plain"
	"ralph/internal/term"
)

// toolbox runs the calls of a model in one folder. Its methods may be called from several goroutines.
type toolbox struct {
	dir     string   // as the client names it
	real    string   // the same, without links
	root    *os.Root // nil if it cannot be opened
	env     []string // of commands
	tools   []tool
	servers []*server
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

// tool is one that a model can call.
type tool struct {
	Spec
	kind        acp.ToolKind
	asks, alone bool
	timeout     time.Duration
	// about says what a call is about to do, as far as only its arguments say; do does it. What do returns besides an
	// error belongs to the result, too.
	about func(args json.RawMessage) (action, error)
	do    func(ctx context.Context, args json.RawMessage) (string, error)
}

// quick is how long a tool may take that starts nothing.
const quick = time.Minute

// openToolbox offers the tools for a folder. A server that does not start is left out, with a warning that says why.
// Commands get env, which has no credentials of the agent's.
func openToolbox(ctx context.Context, dir string, env []string, servers []acp.McpServer) (b *toolbox, warnings []string) {
	b = &toolbox{dir: filepath.Clean(dir), real: resolve(dir), env: env}
	var err error
	if b.root, err = os.OpenRoot(dir); err != nil {
		warnings = append(warnings, "the tools cannot open the project: "+err.Error())
	}
	b.tools = slices.Concat(b.fileTools(), b.bashTools(), b.searchTools(), b.fetchTools())
	return b, append(warnings, b.startServers(ctx, servers)...)
}

// specs describes the tools to the model, always in the same order.
func (b *toolbox) specs() []Spec {
	list := make([]Spec, len(b.tools))
	for i, t := range b.tools {
		list[i] = t.Spec
	}
	return list
}

// describe says what a call is about to do. It fails if the call makes no sense: an unknown tool, or bad arguments.
// The error is what the model is told.
func (b *toolbox) describe(call Block) (a action, err error) {
	defer recovered(&err)
	t, err := b.find(call.Name)
	if err != nil {
		return action{}, err
	}
	if a, err = t.about(call.Args); err != nil {
		return action{}, err
	}
	const most = 200
	a.Title, a.Kind, a.Asks, a.Alone = plain.Cut(term.Line(a.Title), most), t.kind, t.asks, t.alone
	return a, nil
}

// run does a call and returns its result, also where the call failed. It returns soon after ctx ends, with everything
// ended that it started.
func (b *toolbox) run(ctx context.Context, call Block) Block {
	text, err := b.call(ctx, call)
	if err != nil {
		text = strings.TrimPrefix(strings.TrimRight(text, "\n")+"\n"+err.Error(), "\n")
	}
	text = shorten(readable(text), "", 0, maxResult)
	return Block{Kind: Result, ID: call.ID, Name: call.Name, Text: cmp.Or(text, "(nothing)"), Failed: err != nil}
}

func (b *toolbox) call(ctx context.Context, call Block) (text string, err error) {
	defer recovered(&err)
	t, err := b.find(call.Name)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, t.timeout, timedOut(t.timeout))
	defer cancel()
	return t.do(ctx, call.Args)
}

// close ends the servers.
func (b *toolbox) close() {
	var closing sync.WaitGroup
	for _, s := range b.servers {
		closing.Go(s.close)
	}
	closing.Wait()
	if b.root != nil {
		b.root.Close()
	}
}

func (b *toolbox) find(name string) (tool, error) {
	names := make([]string, len(b.tools))
	for i, t := range b.tools {
		if names[i] = t.Name; t.Name == name {
			return t, nil
		}
	}
	return tool{}, fmt.Errorf("there is no tool %q; the tools are: %s", plain.Cut(name, 100), strings.Join(names, ", "))
}

// recovered makes an error of a panic: a bug in a tool must not end the agent.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("the tool has a bug, try another way: %v\n%s", p, plain.Cut(string(debug.Stack()), 2000))
	}
}

func timedOut(after time.Duration) error {
	return fmt.Errorf("timed out after %.0f s", after.Seconds())
}
