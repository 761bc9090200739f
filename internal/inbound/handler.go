// Package inbound carries out what signed requests from outside ask for: it starts a run, or adds the tasks of a template.
// What a request says is data: it becomes the value of an input, and never a flag, a name or a command.
package inbound

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"ralph/dag"
	"ralph/internal/bounded"
	"ralph/internal/human"
	"ralph/internal/plain"
	"ralph/internal/project"
	"ralph/internal/term"
)

// Hook is what a name accepts and does.
type Hook struct {
	project.InboundConfig
	Secret []byte   // empty if the environment has none: then it accepts nothing
	Args   []string // of the run
}

// Problems say which hooks cannot be used, or not safely, for who starts the server.
func Problems(hooks []Hook) (list []string) {
	for i, h := range hooks {
		if len(h.Secret) == 0 {
			list = append(list, fmt.Sprintf("inbound %s: %s is not set, so it accepts nothing", h.Name, h.SecretEnv))
		} else if slices.ContainsFunc(hooks[:i], func(other Hook) bool { return bytes.Equal(h.Secret, other.Secret) }) {
			list = append(list, fmt.Sprintf("inbound %s has the secret of another, so who has recorded a request to one can send it to both; give each its own", h.Name))
		}
	}
	return list
}

// Options are what a handler needs.
type Options struct {
	Hooks   func() []Hook // read afresh for each request
	Update  func(context.Context, func(*dag.Graph) error) error
	Start   func(ctx context.Context, name string, args []string) (dag.Process, error) // begins a run that outlives us
	Command func(ctx context.Context, args ...string) (string, error)                  // carries out a command of ralph
	Life    func(dag.Process) dag.Life
	Now     func() time.Time // nil means time.Now
	Log     func(string)     // tells the owner what senders are not told
}

// New is a handler for POST /in/NAME.
func New(opts Options) http.Handler {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	strangers := &limit{log: opts.Log, now: opts.Now}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /in/{name}", func(w http.ResponseWriter, r *http.Request) {
		a := opts.receive(w, r)
		if a.log != "" {
			log := opts.Log
			if a.ID == "" { // nothing was signed
				log = strangers.say
			}
			log("inbound " + plain.Cut(term.Line(r.PathValue("name")), maxID) + ": " + term.Line(a.log))
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(a.status)
		_ = json.NewEncoder(w).Encode(a) // who has gone is not told
	})
	return mux
}

// answer is what the sender is told, and the owner.
type answer struct {
	ID    string `json:"id,omitempty"`
	Did   string `json:"did,omitempty"`
	Error string `json:"error,omitempty"`

	status int
	log    string
}

// limit lets few lines a minute into the log, and counts the others.
type limit struct {
	log func(string)
	now func() time.Time

	mu    sync.Mutex
	since time.Time
	lines int
}

const maxLines = 10 // of strangers, a minute

func (l *limit) say(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := l.now(); now.Sub(l.since).Abs() >= time.Minute { // a clock that was set back is no reason to be silent
		if l.lines > maxLines {
			l.log(fmt.Sprintf("inbound: %s refused", human.Count(l.lines-maxLines, "more request")))
		}
		l.since, l.lines = now, 0
	}
	if l.lines++; l.lines <= maxLines {
		l.log(text)
	}
}

func refuse(status int, said, log string) answer {
	return answer{Error: said, status: status, log: log}
}

// The limits of a request.
const (
	maxID    = 100
	maxValue = 2000 // bytes of one value
)

func (o Options) receive(w http.ResponseWriter, r *http.Request) answer {
	if r.ContentLength > bounded.Form {
		return refuse(http.StatusRequestEntityTooLarge, "at most 1 MiB is read", "it is larger than 1 MiB")
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bounded.Form))
	if err != nil {
		return refuse(http.StatusRequestEntityTooLarge, "at most 1 MiB is read, and all of it has to come", err.Error())
	}
	hooks := o.Hooks()
	known := slices.IndexFunc(hooks, func(h Hook) bool { return h.Name == r.PathValue("name") })
	h := Hook{Secret: []byte("nobody knows")}
	if known >= 0 {
		h = hooks[known]
	}
	if len(h.Secret) == 0 {
		return refuse(http.StatusServiceUnavailable, "the server has no secret for it", h.SecretEnv+" is not set")
	}
	// A name that there is none of is answered like a wrong signature, after the same work: only the owner learns which it was.
	d, why := verify(h, r.Header, body, o.Now())
	if known < 0 {
		why = "there is no hook of that name"
	}
	if why != "" {
		return refuse(http.StatusUnauthorized, "the signature is missing or wrong", why)
	}
	a := o.act(r.Context(), h, d, body)
	a.ID = d.id
	return a
}

// act does what a request that is genuine asks for.
func (o Options) act(ctx context.Context, h Hook, d delivery, body []byte) answer {
	if d.event == "ping" {
		return answer{Did: "nothing: it is there", status: http.StatusOK}
	}
	var payload any
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	err := dec.Decode(&payload)
	if _, end := dec.Token(); err == nil && !errors.Is(end, io.EOF) {
		err = errors.New("there is more than one value in the body")
	}
	if err != nil && (len(h.Set) > 0 || len(h.Events) > 0) {
		return refuse(http.StatusBadRequest, "the body is no JSON; choose the content type application/json", err.Error())
	}
	action, _ := find(payload, "action")
	if len(h.Events) > 0 && !slices.Contains(h.Events, d.event) && !slices.Contains(h.Events, d.event+"."+action) {
		return answer{Did: "nothing: it is not one of the events that count", status: http.StatusOK}
	}
	args, err := h.apply(payload)
	if err != nil {
		return refuse(http.StatusUnprocessableEntity, err.Error(), err.Error())
	}
	// What follows is done to its end, even if the sender goes.
	ctx = context.WithoutCancel(ctx)
	n, busy, err := o.record(ctx, h, d)
	switch {
	case err != nil:
		return refuse(http.StatusInternalServerError, "it could not be stored; send it again", err.Error())
	case n == 0:
		return refuse(http.StatusConflict, "it was delivered already", "delivery "+d.id+" was delivered already")
	case busy:
		return refuse(http.StatusServiceUnavailable, "the run of an earlier request is still at work; send it again later", "the run of an earlier request is still at work")
	}
	did, p := "started ralph run", dag.Process{}
	if h.Run != nil {
		p, err = o.Start(ctx, h.Name, h.Args)
	} else {
		did, err = o.Command(ctx, args...)
		did = cmp.Or(strings.Join(strings.Fields(did), ", "), "nothing: its tasks are there already")
	}
	serr := o.Update(ctx, func(g *dag.Graph) error {
		if err != nil { // nothing was started or added, so that it may be sent again
			return g.Tx().Exec(forgetSQL, ":n", n)
		}
		return g.Tx().Exec(finishedSQL, ":n", n, ":did", g.Redact(did), ":pid", p.PID, ":start", p.Start, ":boot", p.BootID, ":ns", p.Namespace)
	})
	if err != nil {
		return refuse(http.StatusInternalServerError, "it could not be done; the server's log says why", errors.Join(err, serr).Error())
	}
	a := answer{Did: did, status: http.StatusAccepted}
	if serr != nil {
		a.log = "what it did is not on record: " + serr.Error()
	}
	return a
}

// apply is the command that adds the tasks of a template. Each value is behind its flag and the name of its input, so that it can be neither.
func (h Hook) apply(payload any) ([]string, error) {
	args := []string{"template", "apply"}
	if h.Feature != "" {
		args = append(args, "--feature="+h.Feature)
	}
	for _, input := range slices.Sorted(maps.Keys(h.Vars)) {
		args = append(args, "--var="+input+"="+h.Vars[input])
	}
	for _, input := range slices.Sorted(maps.Keys(h.Set)) {
		text, err := find(payload, h.Set[input])
		if err == nil && text == "" {
			err = fmt.Errorf("the text at %s in the JSON is empty", h.Set[input])
		}
		if err != nil {
			return nil, err
		}
		args = append(args, "--text="+input+"="+text)
	}
	return append(args, "--", h.Template), nil
}

// find is the text at a place in JSON, on one line, without control characters and not too long. It does not begin with a dash, because a
// program that gets it as a word would take it for an option.
func find(payload any, path string) (string, error) {
	for name := range strings.SplitSeq(path, ".") {
		fields, _ := payload.(map[string]any)
		list, _ := payload.([]any)
		payload = fields[name]
		if i, err := strconv.Atoi(name); err == nil && i >= 0 && i < len(list) {
			payload = list[i]
		}
	}
	switch v := payload.(type) {
	case string:
		v = strings.NewReplacer("```", "'''", "~~~", "'''").Replace(term.Line(strings.ToValidUTF8(v, "?"))) // of code blocks, which the shell agent runs
		return plain.Cut(strings.TrimLeft(v, "- "), maxValue), nil
	case json.Number, bool:
		return strings.TrimLeft(fmt.Sprint(v), "-"), nil
	}
	return "", fmt.Errorf("there is no text at %s in the JSON", path)
}
