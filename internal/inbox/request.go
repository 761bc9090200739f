// Package inbox owns requests: what agents, people and runs ask of each other while tasks are in progress, and what they
// are answered. It never waits for anybody and never tells anybody: its callers look.
package inbox

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"ralph/dag"
	"ralph/internal/db"
	"ralph/internal/human"
	"ralph/internal/lazyregexp"
	"ralph/internal/plain"
	"ralph/internal/provenance"
)

// Kind says what a request is.
type Kind string

// The kinds of requests.
const (
	Question   Kind = "question"   // of an agent, to a person
	Credential Kind = "credential" // of an agent, to a person: a value that only its environment sees
	Permission Kind = "permission" // of an agent, to a person: whether it may do something
	Change     Kind = "change"     // of an agent, to a person: whether its task may change files that check its work
	Call       Kind = "call"       // of a run, to a person: what to do about a tool call that may have happened
	Message    Kind = "message"    // to an agent: it needs no answer
	Query      Kind = "query"      // of a person, to an agent
	Stop       Kind = "stop"       // of a person, to the run that makes an attempt: end it
)

// State says what became of a request.
type State string

// The states of a request. All but the first are final.
const (
	Open      State = "open"
	Answered  State = "answered"
	Expired   State = "expired"   // nobody answered in time: its default, if it has one, is the answer
	Withdrawn State = "withdrawn" // nobody needs the answer any more
	Received  State = "received"  // of a message
)

// Request is something that somebody asks, and the answer.
type Request struct {
	N       int64
	ID      string
	Kind    Kind
	Task    string // that asks, or that is told something
	Attempt string // that asks
	Run     string
	Sender  string // who asks: a task's ID, a person, or "run"
	Text    string
	Options []string
	Default string // the answer if nobody gives one until it expires; "" for none
	Detail  string // a JSON object that its kind defines; "" for none
	Parks   bool   // its task is not claimed while it is open

	At        time.Time
	ExpiresAt time.Time // zero: never
	State     State

	Answer      string
	Denied      bool
	AnsweredAt  time.Time // or when it was over for another reason
	AnsweredBy  string
	AnsweredVia string
	Reason      string // why it was withdrawn

	ReceivedBy string // the attempt that got the answer, or the message
	ReceivedAt time.Time

	Changeable bool // it is answered, and its task waits to be claimed: no agent has the answer
}

// The limits of a request.
const (
	MaxText    = 16 << 10
	MaxOptions = 20
	maxOption  = 1 << 10

	MaxAsked     = 20  // by one attempt, of what parks its task
	MaxPermitted = 200 // by one attempt, of what does not
)

const (
	columns = `n, id, kind, task_id, attempt, run, sender, text, options, fallback, detail, parks, at, expires_at, state,
    answer, denied, answered_at, answered_by, answered_via, reason, received_by, received_at, ` + changeable
	// An attempt reads the answers after it has claimed the task.
	changeable = `(state = 'answered' AND parks AND NOT past AND received_at IS NULL AND kind <> 'change'
    AND (SELECT t.status FROM tasks t WHERE t.n = requests.task) IN ('pending', 'blocked'))`
	insertSQL = `
INSERT INTO requests (id, kind, task, task_id, attempt, run, sender, text, options, fallback, detail, parks, at, expires_at)
VALUES (:id, :kind, (SELECT n FROM tasks WHERE id = +:task), :task, :attempt, :run, :sender, :text, :options, :fallback, :detail, :parks, :now, :expires)
ON CONFLICT (id) DO NOTHING;`
	askedSQL = `SELECT count(*) FROM requests
WHERE task = (SELECT n FROM tasks WHERE id = +:task) AND attempt = :attempt AND parks = :parks AND kind <> 'message';`
	sameSQL = `SELECT ` + columns + ` FROM requests
WHERE task = (SELECT n FROM tasks WHERE id = +:task) AND state = 'open' AND kind = +:kind AND text = :text AND sender = :sender
    AND detail IS :detail AND (kind <> 'message' OR attempt IS :attempt) ORDER BY n LIMIT 1;`
)

// Granted reports whether somebody answered, and did not refuse.
func (r Request) Granted() bool { return r.State == Answered && !r.Denied }

func scan(r *db.Row) Request {
	return Request{
		N: r.Int64(), ID: r.Text(), Kind: Kind(r.Text()), Task: r.Text(), Attempt: r.Text(), Run: r.Text(), Sender: r.Text(), Text: r.Text(),
		Options: db.List[string](r), Default: r.Text(), Detail: r.Text(), Parks: r.Bool(), At: r.Time(), ExpiresAt: r.Time(), State: State(r.Text()),
		Answer: r.Text(), Denied: r.Bool(), AnsweredAt: r.Time(), AnsweredBy: r.Text(), AnsweredVia: r.Text(), Reason: r.Text(),
		ReceivedBy: r.Text(), ReceivedAt: r.Time(), Changeable: r.Bool(),
	}
}

// Over reports whether a person can answer no more; with change, an answer that no agent has yet can be replaced.
func (r Request) Over(change bool) bool { return r.State != Open && (!change || !r.Changeable) }

// Immediate reports whether an agent that is at work can use the answer. What a session begins with is for the next one.
func (r Request) Immediate() bool { return r.Kind != Credential && r.Kind != Change }

// Variable is the name under which a credential is in the environment of the agent that asks for it.
func (r Request) Variable() string {
	var detail struct{ Name string }
	if r.Kind == Credential {
		_ = json.Unmarshal([]byte(r.Detail), &detail) // what cannot be read names nothing
	}
	return detail.Name
}

// NewCredential is a request for the value of a variable.
func NewCredential(name, text string) Request {
	detail, _ := json.Marshal(struct { // which always can be
		Name string `json:"name"`
	}{name})
	return Request{Kind: Credential, Text: text, Detail: string(detail), Parks: true}
}

// variable is what may be the name of a credential: what programs use to find each other and themselves may not.
var variable = lazyregexp.New(`^[A-Z][A-Z0-9_]{2,99}$`)

func checkVariable(name string) error {
	const taken = "PATH HOME USER SHELL PWD TERM LANG TMPDIR TEMP NODE_OPTIONS BASH_ENV PYTHONPATH RUBYOPT PERL5OPT"
	prefixes := []string{"LD_", "DYLD_", "RALPH_", "XDG_", "GIT_"}
	if !variable.Get().MatchString(name) || slices.Contains(strings.Fields(taken), name) ||
		slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) }) {
		return fmt.Errorf("%w: %q cannot be the name of a credential; it is a variable like STRIPE_API_KEY", dag.ErrRefused, plain.Cut(name, 100))
	}
	return nil
}

// Ask stores what the agent of a claim asks. An agent that has lost its task is refused with dag.ErrLost. What is asked
// again while nobody has answered, about the same, is the same request. A text that is too long is cut, which it says.
func Ask(g *dag.Graph, t provenance.Store, c dag.Claim, r Request) (Request, error) {
	if err := g.Queue.Holds(c); err != nil {
		return Request{}, err
	}
	if r.Kind == Credential {
		if err := checkVariable(r.Variable()); err != nil {
			return Request{}, err
		}
	}
	if r.Kind == Change {
		if err := checkChange(r.Files()); err != nil {
			return Request{}, err
		}
	}
	r.Task, r.Attempt, r.Sender = c.Task.ID, c.Attempt, c.Task.ID
	asked, err := db.One(g.Tx(), askedSQL, (*db.Row).Int, ":task", r.Task, ":attempt", r.Attempt, ":parks", r.Parks)
	if err != nil {
		return Request{}, err
	}
	limit := MaxPermitted
	if r.Parks {
		limit = MaxAsked
	}
	if asked >= limit {
		return Request{}, fmt.Errorf("%w: an attempt may ask %d times, and this one has", dag.ErrRefused, limit)
	}
	return add(g, t, r)
}

func add(g *dag.Graph, t provenance.Store, r Request) (Request, error) {
	r.Text = g.Redact(limited(r.Text))
	if r.Text == "" {
		return Request{}, fmt.Errorf("%w: a %s needs a text", dag.ErrRefused, r.Kind)
	}
	if len(r.Options) > MaxOptions {
		return Request{}, fmt.Errorf("%w: a %s has at most %d options, not %d", dag.ErrRefused, r.Kind, MaxOptions, len(r.Options))
	}
	options := make([]string, len(r.Options))
	for i, o := range r.Options {
		if options[i] = g.Redact(plain.Cut(strings.TrimSpace(o), maxOption)); options[i] == "" {
			return Request{}, fmt.Errorf("%w: option %d is empty", dag.ErrRefused, i+1)
		}
	}
	tx := g.Tx()
	if same, err := db.One(tx, sameSQL, scan, ":task", r.Task, ":kind", string(r.Kind), ":text", r.Text, ":sender", r.Sender, ":attempt", db.OrNull(r.Attempt),
		":detail", db.OrNull(r.Detail)); err != nil || same.ID != "" {
		return same, err
	}
	r.Options, r.Default = options, g.Redact(limited(r.Default))
	id, err := g.Plan.WithFreeID("q-", "", func(id string) error {
		var expires any
		if r.ID = id; !r.ExpiresAt.IsZero() && t.Seal("asked "+r.ID, r.asked()...) == nil { // what cannot be sealed waits for a person
			expires = r.ExpiresAt.UnixMilli()
		}
		return tx.Exec(insertSQL, ":id", id, ":kind", string(r.Kind), ":task", db.OrNull(r.Task), ":attempt", db.OrNull(r.Attempt),
			":run", db.OrNull(r.Run), ":sender", r.Sender, ":text", r.Text, ":options", db.JSON(options), ":fallback", db.OrNull(r.Default),
			":detail", db.OrNull(r.Detail), ":parks", r.Parks, ":now", g.Now().UnixMilli(), ":expires", expires)
	})
	if err != nil {
		return Request{}, err
	}
	return Get(g, id)
}

// limited is a text as it is stored: one of a megabyte would be in every prompt that follows.
func limited(text string) string {
	text = strings.ReplaceAll(strings.TrimSpace(strings.ToValidUTF8(text, "\uFFFD")), "\x00", "\uFFFD")
	if len(text) <= MaxText {
		return text
	}
	note := fmt.Sprintf("\n(cut here: it was %s long, and %s is the limit)", human.Bytes(int64(len(text))), human.Bytes(MaxText))
	return plain.Head(text, MaxText-len(note)) + note
}
