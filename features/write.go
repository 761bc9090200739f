package features

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"ralph/dag"
	"ralph/internal/atomicfile"
)

var errNotThere = fs.ErrNotExist

// Refusals that callers give advice about.
var (
	ErrExists  = fmt.Errorf("%w: it is not overwritten", dag.ErrRefused)
	ErrMissing = fmt.Errorf("%w: it is needed first", dag.ErrRefused)
	ErrNobody  = fmt.Errorf("%w: nobody can be asked here", dag.ErrRefused)
	ErrNothing = fmt.Errorf("%w: nothing was said, so nothing was written", dag.ErrRefused)
	ErrOther   = fmt.Errorf("%w: one from another text is under way", dag.ErrRefused)
	ErrNoFile  = fmt.Errorf("%w: the agent wrote no document", dag.ErrRefused)
)

// Request says which document is wanted.
type Request struct {
	Kind    Kind
	Idea    string // what is wanted, in words
	From    string // where these words are from
	Replace bool   // start over, and replace what stands there
}

// Written is a document that was put in place.
type Written struct {
	Path     string
	Passes   int      // of the review
	Findings []string // of its passes
	Settled  bool     // the last pass found nothing
}

// draft is the state of a document between sessions.
type draft struct {
	Idea     string     `json:"idea"`
	From     string     `json:"from"`
	Base     string     `json:"base"` // what stood in its place when the step began
	Said     []exchange `json:"said"`
	Replace  bool       `json:"replace"`
	Drafted  bool       `json:"drafted"`
	Pass     int        `json:"pass"`
	Findings []string   `json:"findings"`
	Reviewed bool       `json:"reviewed"`
	Settled  bool       `json:"settled"`
}

// exchange is one question of the agent and what the person said.
type exchange struct {
	Question string `json:"question"`
	Answer   string `json:"answer"`
}

// author writes one document.
type author struct {
	*Planner
	kind  Kind
	at    *staging
	state draft
	text  string            // of the document, as it was accepted last
	given map[string]string // other documents, for the agent to read
}

// Begun says that a step of a document was interrupted and would go on.
func (d *Planner) Begun(kind Kind) bool {
	return Exists(filepath.Join(d.step(string(kind)), "state.json"))
}

// Write takes a document from words to the project's file: an interview, or one go
// if nobody can be asked, then a review. It goes on where it was if it was
// interrupted, and never overwrites a document unless that is asked for.
func (d *Planner) Write(ctx context.Context, r Request) (w Written, err error) {
	at, err := stage(d.step(string(r.Kind)))
	if err != nil {
		return w, err
	}
	defer func() { err = errors.Join(err, at.close()) }()
	a := &author{Planner: d, kind: r.Kind, at: at, given: map[string]string{}}
	if r.Kind == Plan {
		if err := d.optional(Spec.File(), a.given); err != nil {
			return w, err
		}
		if len(a.given) == 0 {
			return w, fmt.Errorf("%s: %w", Spec.File(), ErrMissing)
		}
	}
	if err := a.begin(ctx, r); err != nil {
		return w, err
	}
	inspect := d.guard(ctx)
	defer inspect()
	if !a.state.Drafted {
		if err := a.draft(ctx); err != nil {
			return w, err
		}
	}
	if !a.state.Reviewed {
		if err := a.review(ctx); err != nil {
			return w, err
		}
	}
	inspect() // before our own file is among what changed
	w = Written{Path: d.Path(r.Kind.File()), Passes: a.state.Pass, Findings: a.state.Findings, Settled: a.state.Settled}
	return w, a.finish(ctx)
}

func (d *Planner) step(name string) string { return filepath.Join(d.Staging, name) }

// begin takes up a step that was interrupted, or starts a new one.
func (a *author) begin(ctx context.Context, r Request) error {
	begun, err := a.at.load(&a.state)
	same := r.Idea == "" || r.Idea == a.state.Idea
	switch {
	case err != nil && !r.Replace:
		return err
	case begun && same && (!r.Replace || a.state.Replace):
		return a.resume() // the command that was interrupted, typed again
	case begun && !r.Replace:
		return fmt.Errorf("%s: %w (%s)", a.kind.File(), ErrOther, a.state.From)
	case !r.Replace && Exists(a.Path(a.kind.File())):
		return fmt.Errorf("%s exists: %w", a.kind.File(), ErrExists)
	}
	if err := a.at.clear(); err != nil {
		return err
	}
	a.state = draft{Idea: r.Idea, From: r.From, Replace: r.Replace}
	if a.state.Base, err = fingerprint(a.Path(a.kind.File())); err != nil {
		return err
	}
	if a.kind == Spec && a.state.Idea == "" {
		if err := a.askForIdea(ctx); err != nil {
			return err
		}
	}
	return a.at.save(a.state)
}

func (a *author) askForIdea(ctx context.Context) error {
	if a.Ask == nil {
		return ErrNobody
	}
	idea, err := a.Ask(ctx, fmt.Sprintf("What should %s do, and for whom?", a.Name))
	if err != nil {
		return err
	}
	if idea == "" {
		return ErrNothing
	}
	a.state.Idea, a.state.From = idea, "the terminal"
	return nil
}

func (a *author) resume() error {
	text, err := ReadDocument(a.at.path("draft.md"))
	switch {
	case err == nil:
		a.text = text
	case a.state.Drafted:
		return fmt.Errorf("go on with %s: %w", a.kind.File(), err)
	}
	over := "; to start over, remove " + a.at.dir
	switch {
	case a.state.Reviewed:
		a.Note("%s: it was finished, and is put in place", a.kind.File())
	case a.state.Drafted:
		a.Note("%s: going on with the review, %d of %d passes done%s", a.kind.File(), a.state.Pass, len(passes), over)
	case len(a.state.Said) > 0:
		a.Note("%s: going on with the interview, %d answers so far%s", a.kind.File(), len(a.state.Said), over)
	default:
		a.Note("%s: beginning again with what was said before (%s)%s", a.kind.File(), a.state.From, over)
	}
	return nil
}

// accept keeps what the agent wrote, outside of its reach.
func (a *author) accept(text string) error {
	a.text = text
	return atomicfile.Write(a.at.path("draft.md"), []byte(text))
}

// finish puts the document in place.
func (a *author) finish(ctx context.Context) error {
	path := a.Path(a.kind.File())
	now, err := fingerprint(path)
	if err != nil {
		return err
	}
	if now != a.state.Base && now != sum([]byte(a.text)) {
		return fmt.Errorf("%s was written by somebody else meanwhile: %w; the new one is in %s", a.kind.File(), ErrExists, a.at.path("draft.md"))
	}
	if err := atomicfile.Write(path, []byte(a.text)); err != nil {
		return err
	}
	if a.kind == Plan && a.Store != nil {
		err := a.Store.Update(context.WithoutCancel(ctx), func(g *dag.Graph) error { return g.SetStage(a.Name, dag.FeaturePlanned) })
		if err != nil {
			return err
		}
	}
	return a.at.clear()
}
