package features

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"ralph/prompt"
	"ralph/sigils"
)

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
	a.Note("%s: the agent is at work", a.kind.File())
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
			text = prompt.Answer(prompt.AnswerInput{File: a.kind.File(), Text: answer, Draft: true, Inert: sigils.Inert})
		case enough && err == nil:
			return nil // it is as it was, and the agent leaves it so
		case enough && reminders == maxReminders:
			return fmt.Errorf("%w: %s", ErrNoFile, reason(err))
		case enough:
			reminders++
			text = prompt.Missing(a.kind.File(), reason(err))
		default:
			answer, err := a.answer(ctx, a.Redact.Text(turn.Text()))
			if err != nil {
				return err
			}
			enough = answer == ""
			text = prompt.Answer(prompt.AnswerInput{File: a.kind.File(), Text: answer, Draft: a.text != "", Enough: enough, Inert: sigils.Inert})
		}
	}
}

// opening is the first prompt of a session.
func (a *author) opening() string {
	in := prompt.PlanningInput{
		Name: a.Name, Project: a.Project.Root, File: a.kind.File(), Interview: a.Ask != nil, Draft: a.text != "",
		Idea:     prompt.Document{Text: a.state.Idea, From: "`idea.md` in your working folder"},
		Dialogue: prompt.Document{Text: a.dialogue(), From: "an interview that was interrupted"}, Instructions: a.Project.Instructions(), Inert: sigils.Inert,
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
