package features

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"strings"

	"ralph/dag"
	"ralph/internal/atomicfile"
	"ralph/prompt"
)

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
	Replace bool   // start over, and replace the document that exists
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

// begun reports whether a step was interrupted and would continue.
func (p *Planner) begun(step string) bool { return (&staging{dir: p.step(step)}).begun() }

// Write takes a document from words to the project's file: an interview, or one go
// if nobody can be asked, then a review. It continues where it was if it was
// interrupted, and never overwrites a document unless that is asked for.
func (p *Planner) Write(ctx context.Context, r Request) (step Step, err error) {
	defer func() { err = p.failed(string(r.Kind), err) }()
	at, err := stage(p.step(string(r.Kind)))
	if err != nil {
		return step, err
	}
	defer func() { err = errors.Join(err, at.close()) }()
	a := &author{Planner: p, kind: r.Kind, at: at, given: map[string]string{}}
	if r.Kind == Plan {
		if err := p.numberSpec(ctx); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return step, err
		}
		if err := p.read(Spec.File(), a.given); err != nil {
			return step, err
		}
		if len(a.given) == 0 {
			return step, fmt.Errorf("%s: %w", Spec.File(), ErrMissing)
		}
	}
	if err := a.begin(ctx, r); err != nil {
		return step, err
	}
	inspect := p.guard(ctx)
	defer inspect()
	if !a.state.Drafted {
		if err := a.draft(ctx); err != nil {
			return step, err
		}
	}
	if err := a.review(ctx); err != nil {
		return step, err
	}
	inspect() // before our own file is among what changed
	step = newStep(string(r.Kind), DidWrite, p.Path(r.Kind.File()))
	step.Passes, step.Settled, step.Findings = a.state.Pass, a.state.Settled, append(step.Findings, a.state.Findings...)
	if err := a.finish(ctx); err != nil {
		return step, err
	}
	if !step.Settled {
		p.Warn("the last pass of the review still found something: look at %s", step.Path)
	}
	return step, nil
}

// begin continues a step that was interrupted, or starts a new one.
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
		if a.state.Idea, err = a.AskForIdea(ctx, fmt.Sprintf("What should %s do, and for whom?", a.Name)); err != nil {
			return err
		}
		a.state.From = FromTerminal
	}
	return a.at.save(a.state)
}

// FromTerminal is where an idea is from that a person typed.
const FromTerminal = "the terminal"

// AskForIdea asks a person what is wanted.
func (p *Planner) AskForIdea(ctx context.Context, question string) (string, error) {
	if p.Ask == nil {
		return "", ErrNobody
	}
	idea, err := p.Ask(ctx, question)
	if err == nil && idea == "" {
		err = ErrNothing
	}
	return idea, err
}

func (a *author) resume() error {
	text, err := ReadDocument(a.at.path("draft.md"))
	switch {
	case err == nil:
		a.text = text
	case a.state.Drafted:
		return fmt.Errorf("continue %s: %w", a.kind.File(), err)
	}
	over := "; to start over, remove " + a.at.dir
	switch {
	case a.state.Reviewed:
		a.Note("%s is finished; putting it in place", a.kind.File())
	case a.state.Drafted:
		a.Note("%s: continuing the review, %d of %d passes done%s", a.kind.File(), a.state.Pass, len(passes), over)
	case len(a.state.Said) > 0:
		a.Note("%s: continuing the interview, %d answers so far%s", a.kind.File(), len(a.state.Said), over)
	default:
		a.Note("%s: starting again with what was said before (%s)%s", a.kind.File(), a.state.From, over)
	}
	return nil
}

// files are those that the agent is given, besides the document itself.
func (a *author) files() map[string]string {
	files := maps.Clone(a.given)
	if a.text != "" {
		files[a.kind.File()] = a.text
	}
	return files
}

// accept keeps what the agent wrote, out of its reach.
func (a *author) accept(text string) error {
	a.text = text
	return atomicfile.Write(a.at.path("draft.md"), []byte(text))
}

// finish puts the document in place.
func (a *author) finish(ctx context.Context) error {
	path := a.Path(a.kind.File())
	now, err := fingerprint(path)
	if err == nil && a.kind == Spec {
		a.text, err = a.number(context.WithoutCancel(ctx), a.text)
	}
	if err != nil {
		return err
	}
	if now != a.state.Base && now != sum([]byte(a.text)) {
		return fmt.Errorf("%s was written by somebody else meanwhile: %w; the new one is in %s", a.kind.File(), ErrExists, a.at.path("draft.md"))
	}
	if err := atomicfile.Write(path, []byte(a.text)); err != nil {
		return err
	}
	if a.kind == Plan {
		if err := a.planned(context.WithoutCancel(ctx)); err != nil {
			return err
		}
	}
	return a.at.clear()
}

// maxReminders is how often an agent is reminded that its document is missing.
const maxReminders = 2

// draft has the agent write the document, asking a person what it needs to know.
func (a *author) draft(ctx context.Context) (err error) {
	files := a.files()
	if a.state.Idea != "" {
		files["idea.md"] = a.state.Idea
	}
	if err := a.at.fill(files); err != nil {
		return err
	}
	a.Note("%s: the agent is working", a.kind.File())
	session, err := a.open(ctx, a.at)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.close(session, a.at, files, a.kind.File())) }()
	if err := a.converse(ctx, session); err != nil {
		return err
	}
	a.state.Drafted = true
	return a.at.save(a.state)
}

// converse ends when there is a document that the person, if there is one, is content with.
func (a *author) converse(ctx context.Context, s Session) error {
	text, reminders := a.opening(), 0
	enough := a.Ask == nil
	for {
		turn, err := a.prompt(ctx, s, text)
		if err != nil {
			return err
		}
		written, err := a.at.read(a.kind.File())
		switch {
		case err == nil && written != a.text:
			if err := a.accept(written); err != nil {
				return err
			}
			answer, err := a.present(ctx)
			if err != nil || answer == "" {
				return err
			}
			text = prompt.Answer(prompt.AnswerInput{File: a.kind.File(), Text: answer, Draft: true})
		case enough && err == nil:
			return nil // it is as it was, and the agent leaves it so
		case enough && reminders == maxReminders:
			return fmt.Errorf("%w: %s", ErrNoFile, reason(err))
		case enough:
			reminders++
			text = prompt.Missing(a.kind.File(), reason(err))
		default:
			question, err := turn.Text()
			if err != nil {
				return err
			}
			answer, err := a.answer(ctx, a.Redact.Text(question))
			if err != nil {
				return err
			}
			enough = answer == ""
			text = prompt.Answer(prompt.AnswerInput{File: a.kind.File(), Text: answer, Draft: a.text != "", Enough: enough})
		}
	}
}

// opening is the first prompt of a session.
func (a *author) opening() string {
	in := prompt.PlanningInput{
		Name: a.Name, Project: a.Project.Root, File: a.kind.File(), Interview: a.Ask != nil, Draft: a.text != "",
		Idea:     prompt.Document{Text: a.state.Idea, From: "`idea.md` in your working folder"},
		Dialogue: prompt.Document{Text: a.dialogue(), From: "an interview that was interrupted"}, Instructions: a.Project.Instructions(), Templates: a.Templates(),
		Sections: a.Sections,
	}
	if a.kind == Spec {
		return prompt.Spec(in)
	}
	return prompt.Plan(in)
}

func (a *author) dialogue() string {
	var b strings.Builder
	for _, e := range a.state.Said {
		fmt.Fprintf(&b, "You asked: %s\n\nThe person said: %s\n\n", strings.TrimSpace(e.Question), strings.TrimSpace(e.Answer))
	}
	return b.String()
}

// present shows the draft and returns what is to be changed.
func (a *author) present(ctx context.Context) (string, error) {
	if a.Ask == nil {
		return "", nil
	}
	a.Show(a.kind.File(), a.text)
	return a.ask(ctx, fmt.Sprintf("What should be different in %s?", a.kind.File()), "(about the draft)")
}

// answer puts a question of the agent to the person.
func (a *author) answer(ctx context.Context, question string) (string, error) {
	a.Show("the agent asks", question)
	return a.ask(ctx, "Your answer?", question)
}

func (a *author) ask(ctx context.Context, question, about string) (string, error) {
	answer, err := a.Ask(ctx, question)
	if err != nil || answer == "" {
		return "", err
	}
	a.state.Said = append(a.state.Said, exchange{about, a.Redact.Text(answer)})
	return answer, a.at.save(a.state)
}

// reason is why a document cannot be accepted, as a prompt says it.
func reason(err error) string {
	switch {
	case err == nil:
		return "it is as it was"
	case errors.Is(err, fs.ErrNotExist):
		return "it is not in your working folder"
	default:
		return strings.ReplaceAll(err.Error(), ErrNoText.Error()+": ", "")
	}
}
