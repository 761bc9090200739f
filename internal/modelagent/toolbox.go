package modelagent

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"github.com/google/jsonschema-go/jsonschema"

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
	// plan says what a call is about to do, and how. It has no effects itself.
	plan func(args json.RawMessage) (action, doing, error)
}

// doing is what remains of a call once it is planned. What it returns besides an error belongs to the result, too.
type doing func(ctx context.Context) (string, error)

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
	if err == nil {
		a, _, err = t.plan(call.Args)
	}
	if err != nil {
		return action{}, err
	}
	a.Title, a.Kind, a.Asks, a.Alone = plain.Excerpt(term.Line(a.Title)), t.kind, t.asks, t.alone
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
	_, do, err := t.plan(call.Args)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, t.timeout, timedOut(t.timeout))
	defer cancel()
	return do(ctx)
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
	return tool{}, fmt.Errorf("there is no tool %q; the tools are: %s", plain.Brief(name), strings.Join(names, ", "))
}

// recovered makes an error of a panic: a bug in a tool must not end the agent.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("the tool has a bug, try another way: %v", p)
	}
}

func timedOut(after time.Duration) error {
	return fmt.Errorf("timed out after %.0f s", after.Seconds())
}

// newTool makes a tool whose arguments are a struct. Its fields are required unless they are marked omitempty.
func newTool[In any](t tool, plan func(In) (action, doing, error)) tool {
	schema, err := jsonschema.For[In](nil)
	if err == nil {
		t.Schema, err = json.Marshal(schema)
	}
	if err != nil {
		panic(err) // it depends on nothing but the type
	}
	t.plan = func(args json.RawMessage) (action, doing, error) {
		var in In
		if err := decode(args, schema, &in); err != nil {
			return action{}, nil, fmt.Errorf("%w\nthe arguments of %s have to be as its schema says: %s", err, t.Name, t.Schema)
		}
		return plan(in)
	}
	t.timeout = cmp.Or(t.timeout, time.Minute)
	return t
}

// decode reads arguments as models write them: some put numbers, true and false into quotation marks.
func decode(args json.RawMessage, schema *jsonschema.Schema, in any) error {
	members, err := object(args)
	if err != nil {
		return err
	}
	for _, name := range schema.Required {
		if value := members[name]; value == nil || string(value) == "null" {
			err = errors.Join(err, fmt.Errorf("the argument %q is missing", name))
		}
	}
	if err != nil {
		return err
	}
	for name, property := range schema.Properties {
		if bare := bytes.Trim(members[name], `"`); property.Type != "string" && json.Valid(bare) {
			members[name] = bare
		}
	}
	raw, err := json.Marshal(members)
	if err == nil {
		err = json.Unmarshal(raw, in)
	}
	if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
		return fmt.Errorf("the argument %q must not be a %s", wrong.Field, wrong.Value)
	}
	return err
}

// object reads the members of an object; no arguments at all are an empty one.
func object(args json.RawMessage) (map[string]json.RawMessage, error) {
	members := map[string]json.RawMessage{}
	if args = bytes.TrimSpace(args); len(args) == 0 || string(args) == "null" {
		return members, nil
	}
	if err := json.Unmarshal(args, &members); err != nil {
		text := string(args)
		_ = json.Unmarshal(args, &text) // what the model wrote is a JSON string, if it is no JSON
		return nil, fmt.Errorf("the arguments are no JSON object: %s", plain.Excerpt(text))
	}
	return members, nil
}
