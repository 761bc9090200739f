package inbox

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"ralph/dag"
	"ralph/internal/db"
	"ralph/internal/human"
	"ralph/internal/provenance"
)

// Reply is what somebody answers: a text, the number of an option, or no.
type Reply struct {
	Text   string
	Option int // from 1; 0 for none
	Denied bool
	Other  bool // the text need not be an option
	Change bool // it may replace an answer that no agent has received
}

// ErrNotOption refuses a text that is not among the options.
var ErrNotOption = fmt.Errorf("%w: not an option", dag.ErrRefused)

// OtherPrefix begins an answer that is none of the options, where a person types it.
const OtherPrefix = "other:"

// Typed is what a person means who typed text where the options stand with their numbers.
func Typed(r Request, text string) Reply {
	text = strings.TrimSpace(text)
	if n := len(OtherPrefix); len(r.Options) > 0 && len(text) >= n && strings.EqualFold(text[:n], OtherPrefix) {
		return Reply{Text: strings.TrimSpace(text[n:]), Other: true}
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > len(r.Options) || slices.Contains(r.Options, text) {
		return Reply{Text: text}
	}
	return Reply{Option: n}
}

// OverError says that a request is not open any more, and why. It is a dag.ErrRefused.
type OverError struct{ Request Request }

func (e *OverError) Error() string {
	r := e.Request
	when := r.AnsweredAt.Format("2006-01-02 15:04 MST")
	switch r.State {
	case Answered:
		what := r.Answer
		if r.Denied {
			what = strings.TrimSuffix("denied: "+what, ": ")
		}
		if r.Kind == Credential && !r.Denied {
			what = "with a credential"
		}
		return fmt.Sprintf("%s was answered already, by %s at %s: %s", r.ID, cmp.Or(r.AnsweredBy, "a run"), when, what)
	case Expired:
		return fmt.Sprintf("%s expired at %s: nobody had answered; the answer is now %s", r.ID, when, cmp.Or(r.Answer, "that nobody answered"))
	case Withdrawn:
		return fmt.Sprintf("%s was withdrawn at %s: %s (%s)", r.ID, when, r.Reason, r.Task)
	case Received, Open:
	}
	return fmt.Sprintf("%s is a %s and cannot be answered", r.ID, r.Kind)
}

func (e *OverError) Unwrap() error { return dag.ErrRefused }

const replySQL = `
UPDATE requests SET state = 'answered', answer = :answer, denied = :denied, answered_at = :now, answered_by = :by, answered_via = :via
WHERE id = :id AND (state = 'open' OR :change AND ` + changeable + `) AND kind NOT IN ('message', 'stop') RETURNING ` + columns + `;`

// Answer answers a request in the name of the graph's actor, who is a person. The first answer counts, unless another one is
// to change it before an agent has it. Others are refused with an *OverError, and so are answers to what nobody needs an
// answer to any more.
func Answer(g *dag.Graph, t provenance.Store, id string, a Reply) (Request, error) {
	r, err := Get(g, id)
	if err != nil {
		return Request{}, err
	}
	done, err := reply(g, r, a)
	if err == nil {
		err = done.seal(t)
	}
	return done, err
}

// Respond is the answer of an agent to what a person asked it. It is that to nothing else, and nobody vouches for it.
func Respond(g *dag.Graph, id, text string) error {
	r, err := Get(g, id)
	if err == nil && r.Kind != Query {
		err = fmt.Errorf("%w: %s is a %s, and no agent answers it", dag.ErrRefused, id, r.Kind)
	}
	if err == nil {
		_, err = reply(g, r, Reply{Text: text})
	}
	return err
}

func reply(g *dag.Graph, r Request, a Reply) (Request, error) {
	text, err := a.text(r)
	if err != nil {
		return Request{}, err
	}
	actor := g.Actor()
	done, err := db.One(g.Tx(), replySQL, scan, ":id", r.ID, ":answer", db.OrNull(g.Redact(text)), ":denied", a.Denied, ":change", a.Change,
		":now", g.Now().UnixMilli(), ":by", db.OrNull(actor.Who), ":via", db.OrNull(actor.Via))
	switch {
	case err != nil:
		return Request{}, err
	case done.ID == "":
		return r, &OverError{r}
	case a.Denied:
		text = strings.TrimSuffix("denied: "+text, ": ")
	}
	if err := carryOut(g, done); err != nil {
		return Request{}, err
	}
	return done, g.History.Audit(r.Task, r.ID, text)
}

// text is the answer in words.
func (a Reply) text(r Request) (string, error) {
	text := strings.TrimSpace(strings.ToValidUTF8(a.Text, "\uFFFD"))
	switch {
	case len(text) > MaxText:
		return "", fmt.Errorf("%w: an answer has at most %d KiB", dag.ErrRefused, MaxText>>10)
	case a.Option < 0 || a.Option > len(r.Options):
		return "", fmt.Errorf("%w: %s has no option %d; it has %d", dag.ErrRefused, r.ID, a.Option, len(r.Options))
	case a.Option > 0:
		return r.Options[a.Option-1], nil
	case text == "" && !a.Denied && r.Kind != Credential:
		return "", fmt.Errorf("%w: the answer to %s is empty", dag.ErrRefused, r.ID)
	case len(r.Options) > 0 && !a.Denied && !a.Other:
		i := slices.IndexFunc(r.Options, func(option string) bool { return strings.EqualFold(option, text) })
		if i < 0 {
			return "", fmt.Errorf("%w of %s: %q; it has %s", ErrNotOption, r.ID, text, human.Series(r.Options, "and"))
		}
		return r.Options[i], nil
	}
	return text, nil
}

const expireSQL = `
UPDATE requests INDEXED BY requests_expires SET state = 'expired', answer = fallback, answered_at = :now
WHERE state = 'open' AND expires_at IS NOT NULL AND expires_at <= :now RETURNING ` + columns + `;`

// Expire ends what nobody answered in time, and lists it: the default is the answer then. What is not as it was asked is
// opened again instead, and listed as bad.
func Expire(g *dag.Graph, t provenance.Store) (over, bad []Request, err error) {
	due, err := db.All(g.Tx(), expireSQL, scan, ":now", g.Now().UnixMilli())
	if err == nil && len(due) > 0 {
		err = t.Missing()
	}
	if err != nil {
		return nil, nil, err
	}
	for _, r := range due {
		if !t.Sealed("asked "+r.ID, r.asked()...) {
			bad = append(bad, r)
			continue
		}
		if err := errors.Join(r.seal(t), carryOut(g, r)); err != nil {
			return nil, nil, err
		}
		over = append(over, r)
	}
	bad, err = Disown(g, t, bad...)
	return over, bad, err
}
