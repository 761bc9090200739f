package forge

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"ralph/internal/proc"
)

// own is a command of the user's: it is called with a verb as its last argument, and a JSON object on its stdin; it answers with one.
type own struct{ program }

func newOwn(command string, o Options) (Forge, error) {
	argv, err := proc.Split(command)
	if err == nil && len(argv) == 0 {
		err = fmt.Errorf("it is empty")
	}
	if err != nil {
		return nil, fmt.Errorf("pr.command: %w", err)
	}
	return own{program{argv, o}}, nil
}

// ask calls the command. Without somewhere to put it, the answer does not matter.
func (f own) ask(ctx context.Context, verb string, question, answer any) error {
	input, err := json.Marshal(question)
	if err != nil {
		return err
	}
	out, err := f.run(ctx, nil, string(input)+"\n", verb)
	if err != nil || answer == nil {
		return err
	}
	return f.decode(out, answer, verb)
}

type number struct {
	Number int `json:"number"`
}

func (f own) Find(ctx context.Context, branch string) (p Pull, err error) {
	return p, f.ask(ctx, "find", map[string]string{"branch": branch}, &p)
}

func (f own) Save(ctx context.Context, d Draft) (p Pull, err error) {
	err = f.ask(ctx, "save", d, &p)
	if err == nil && p.Number <= 0 {
		err = &Error{f.Name(), doing(f.argv, []string{"save"}), Garbage, "a pull request without a number"}
	}
	return p, err
}

func (f own) Checks(ctx context.Context, n int) (c Checks, err error) {
	err = f.ask(ctx, "checks", number{n}, &c)
	for _, k := range c.List {
		if err == nil && !slices.Contains([]State{Passed, Failed, Pending, Cancelled}, k.State) {
			err = &Error{f.Name(), doing(f.argv, []string{"checks"}), Garbage, fmt.Sprintf("state %q of check %q", k.State, k.Name)}
		}
	}
	return c, err
}

func (f own) Log(ctx context.Context, c Check) (string, error) {
	var answer struct{ Log string }
	err := f.ask(ctx, "log", c, &answer)
	return answer.Log, err
}

func (f own) Comments(ctx context.Context, n int) ([]Comment, error) {
	var answer struct{ Comments []Comment }
	err := f.ask(ctx, "comments", number{n}, &answer)
	return answer.Comments, err
}

func (f own) Commented(ctx context.Context, issue Issue, text string) (bool, error) {
	var answer struct{ Commented bool }
	err := f.ask(ctx, "commented", struct {
		Issue
		Text string `json:"text"`
	}{issue, text}, &answer)
	return answer.Commented, err
}

func (f own) Comment(ctx context.Context, issue Issue, body string) error {
	return f.ask(ctx, "comment", struct {
		Issue
		Body string `json:"body"`
	}{issue, body}, nil)
}
