package modelagent

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	acp "github.com/coder/acp-go-sdk"

	"ralph/internal/agentside"
)

// Options are the settings of Serve. Provider, Pick and State are required.
type Options struct {
	Version  string // that the agent gives itself
	Provider Provider
	Model    string                                     // to begin with; empty means what Pick calls sonnet, or the first that is offered
	Pick     func(tier string, offered []string) string // what the provider calls a tier: opus, sonnet or haiku; empty if nothing
	Effort   Effort                                     // to begin with
	Window   int                                        // of the model, in tokens; 0 means what the provider says, else 32,000
	State    string                                     // the folder of the conversations; made if it is missing
	Environ  []string                                   // of the commands that the model runs, without credentials
	AskAll   bool                                       // ask also before calls that only read
	Now      func() time.Time                           // nil means time.Now
}

// listTimeout bounds the wait for a server that says nothing.
const listTimeout = 20 * time.Second

// Serve speaks ACP on r and w until r ends or ctx is done, and returns when no turn is running any more. The error is
// the cause of ctx, and when r ended what was wrong with it.
func Serve(ctx context.Context, r io.Reader, w io.Writer, o Options) error {
	if o.Now == nil {
		o.Now = time.Now
	}
	alive, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	a := &agent{options: o, alive: alive, sessions: map[acp.SessionId]*session{}}
	a.listed = sync.OnceValues(func() ([]Model, error) {
		ctx, cancel := context.WithTimeout(alive, listTimeout)
		defer cancel()
		return o.Provider.Models(ctx)
	})
	var listing sync.WaitGroup
	listing.Go(func() { _, _ = a.listed() }) // it is there when a session needs it
	defer listing.Wait()
	return agentside.Serve(ctx, r, w, a, func(conn *acp.AgentSideConnection) { a.conn = conn }, func() {
		end()
		a.Stop()
		a.mu.Lock()
		defer a.mu.Unlock()
		for _, s := range a.sessions {
			s.close()
		}
	})
}

// agent answers the client.
type agent struct {
	agentside.Base
	options Options
	conn    *acp.AgentSideConnection
	alive   context.Context         //nolint:containedctx // of the process: servers of tools outlive the request that named them
	listed  func() ([]Model, error) // what the provider offers; it is asked once

	mu       sync.Mutex
	sessions map[acp.SessionId]*session
}

// offered lists the names of the models, as far as they are known.
func (a *agent) offered() []string {
	models, _ := a.listed()
	var ids []string
	for _, m := range models {
		ids = append(ids, m.ID)
	}
	return ids
}

func (a *agent) Initialize(context.Context, acp.InitializeRequest) (acp.InitializeResponse, error) {
	return acp.InitializeResponse{
		ProtocolVersion: acp.ProtocolVersionNumber,
		AgentInfo:       &acp.Implementation{Name: "ralph-agent", Version: a.options.Version},
		AgentCapabilities: acp.AgentCapabilities{
			LoadSession:     true,
			McpCapabilities: acp.McpCapabilities{Http: true, Sse: true},
		},
		AuthMethods: []acp.AuthMethod{},
	}, nil
}

func (a *agent) NewSession(ctx context.Context, req acp.NewSessionRequest) (acp.NewSessionResponse, error) {
	if err := checkFolder(req.Cwd); err != nil {
		return acp.NewSessionResponse{}, err
	}
	_, err := a.listed()
	var f *Failure
	if errors.As(err, &f) && f.Kind == NoKey {
		return acp.NewSessionResponse{}, a.explain(err)
	} // with any other failure the first prompt has more to say
	offered := a.offered()
	model := cmp.Or(a.options.Model, a.options.Pick("sonnet", offered))
	if model == "" && len(offered) > 0 {
		model = offered[0]
	}
	id := acp.SessionId("s-" + strings.ToLower(rand.Text()))
	_, end, err := a.Begin(ctx, id) // who ends the agent waits until it is open
	if err != nil {
		return acp.NewSessionResponse{}, err
	}
	defer end()
	now := a.options.Now()
	removeOld(a.options.State, now)
	conv, err := createConversation(a.options.State, string(id), record{
		Kind: headRecord, Dir: req.Cwd, System: systemPrompt(ctx, req.Cwd, a.options.Environ, now), Model: model, Effort: a.options.Effort,
	})
	if err != nil {
		return acp.NewSessionResponse{}, a.explain(err)
	}
	s := a.open(id, conv, req.Cwd, req.McpServers)
	return acp.NewSessionResponse{SessionId: id, ConfigOptions: s.configOptions()}, nil
}

func (a *agent) LoadSession(ctx context.Context, req acp.LoadSessionRequest) (acp.LoadSessionResponse, error) {
	if id := string(req.SessionId); id != filepath.Base(id) || !filepath.IsLocal(id) { // it names a file
		return acp.LoadSessionResponse{}, agentside.UnknownSession(req.SessionId)
	}
	if err := checkFolder(req.Cwd); err != nil {
		return acp.LoadSessionResponse{}, err
	}
	_, end, err := a.Begin(ctx, req.SessionId) // nobody prompts meanwhile
	if err != nil {
		return acp.LoadSessionResponse{}, err
	}
	defer end()
	a.mu.Lock()
	old := a.sessions[req.SessionId]
	delete(a.sessions, req.SessionId)
	a.mu.Unlock()
	if old != nil {
		old.close()
	}
	conv, records, err := openConversation(a.options.State, string(req.SessionId))
	if err != nil {
		return acp.LoadSessionResponse{}, a.explain(err)
	}
	if dir := conv.state.dir; filepath.Clean(dir) != filepath.Clean(req.Cwd) {
		conv.close()
		return acp.LoadSessionResponse{}, acp.NewInvalidParams(map[string]any{"error": "the session " + string(req.SessionId) + " belongs to the folder " + dir})
	}
	s := a.open(req.SessionId, conv, req.Cwd, req.McpServers)
	settled, err := conv.settle()
	if err != nil {
		return acp.LoadSessionResponse{}, a.explain(err)
	}
	s.replay(append(records, settled...))
	return acp.LoadSessionResponse{ConfigOptions: s.configOptions()}, nil
}

// checkFolder refuses to work in a folder that is not there.
func checkFolder(dir string) error {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() || !filepath.IsAbs(dir) {
		return acp.NewInvalidParams(map[string]any{"error": "cwd has to be the absolute path of a folder that exists, not " + strconv.Quote(dir)})
	}
	return nil
}

// open makes a session of a conversation.
func (a *agent) open(id acp.SessionId, conv *history, dir string, servers []acp.McpServer) *session {
	tools, warnings := openToolbox(a.alive, dir, a.options.Environ, servers)
	s := &session{agent: a, id: id, conv: conv, tools: tools, warnings: warnings, fits: map[string]int{}}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sessions[id] = s
	return s
}

func (a *agent) session(id acp.SessionId) (*session, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if s := a.sessions[id]; s != nil {
		return s, nil
	}
	return nil, agentside.UnknownSession(id)
}

func (a *agent) Prompt(ctx context.Context, req acp.PromptRequest) (acp.PromptResponse, error) {
	prompt := promptText(req.Prompt)
	if strings.TrimSpace(prompt) == "" { // providers refuse it, and every request that has it
		return acp.PromptResponse{}, acp.NewInvalidParams(map[string]any{"error": "the prompt has no text"})
	}
	ctx, end, err := a.Begin(ctx, req.SessionId)
	if err != nil {
		return acp.PromptResponse{}, err
	}
	defer end()
	s, err := a.session(req.SessionId) // not before: it may just have been loaded again
	if err != nil {
		return acp.PromptResponse{}, err
	}
	t := &turn{session: s}
	stop, err := t.run(ctx, prompt)
	switch {
	case ctx.Err() != nil: // a cancel is no error, whatever broke because of it
		stop = acp.StopReasonCancelled
	case err != nil:
		return acp.PromptResponse{}, a.explain(err)
	}
	return acp.PromptResponse{StopReason: stop, Usage: t.usage.forClient()}, nil
}

// SetSessionConfigOption chooses a model or an effort.
func (a *agent) SetSessionConfigOption(_ context.Context, req acp.SetSessionConfigOptionRequest) (acp.SetSessionConfigOptionResponse, error) {
	if req.ValueId == nil {
		return acp.SetSessionConfigOptionResponse{}, acp.NewInvalidParams(map[string]any{"error": "the value is no text"})
	}
	s, err := a.session(req.ValueId.SessionId)
	if err == nil {
		err = s.choose(string(req.ValueId.ConfigId), string(req.ValueId.Value))
	}
	if err != nil {
		return acp.SetSessionConfigOptionResponse{}, err
	}
	return acp.SetSessionConfigOptionResponse{ConfigOptions: s.configOptions()}, nil
}

// UnstableSetSessionModel chooses a model, too, as older clients do.
func (a *agent) UnstableSetSessionModel(_ context.Context, req acp.UnstableSetSessionModelRequest) (acp.UnstableSetSessionModelResponse, error) {
	s, err := a.session(req.SessionId)
	if err == nil {
		err = s.choose(modelOption, string(req.ModelId))
	}
	return acp.UnstableSetSessionModelResponse{}, err
}

// promptText puts the blocks of a prompt together.
func promptText(blocks []acp.ContentBlock) string {
	var parts []string
	for _, b := range blocks {
		switch {
		case b.Text != nil:
			parts = append(parts, b.Text.Text)
		case b.ResourceLink != nil:
			parts = append(parts, b.ResourceLink.Name+": "+b.ResourceLink.Uri)
		}
	}
	return strings.Join(parts, "\n\n")
}

// explain says what a failure means to the client: a limit, a missing login, or something else and what to do.
func (a *agent) explain(err error) error {
	e := &acp.RequestError{Code: -32603, Message: err.Error()} // an internal error
	var f *Failure
	if !errors.As(err, &f) {
		return e
	}
	data := map[string]any{"status": f.Status}
	if f.After > 0 {
		data["retry_after"] = f.After.Seconds()
	}
	e.Data = data
	switch f.Kind {
	case Limited:
		data["status"] = 429
	case Overloaded:
		data["status"] = 529
	case NoKey:
		return acp.NewAuthRequired(map[string]any{"error": f.Error()})
	case NoModel:
		models := cmp.Or(strings.Join(a.offered(), ", "), "the server lists none, see its manual")
		e.Message += "; choose a model that it has: " + shorten(models, "", 0, 1000)
	case TooLong:
		e.Message += "; use a model with a larger window or split the task; if the window is not what ralph takes it for, name it: ralph agent --window TOKENS"
	case Broken, Bad: // the text says what to do, if anything helps
	}
	return e
}
