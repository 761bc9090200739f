package forge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"

	"ralph/internal/bounded"
	"ralph/internal/human"
	"ralph/internal/plain"
	"ralph/internal/proc"
)

// Trouble is a kind of what goes wrong with a forge.
type Trouble string

// The kinds that people can do something about.
const (
	Missing   Trouble = "missing"    // the program is not installed
	LoggedOut Trouble = "logged out" // it has no credentials
	Slow      Trouble = "slow"       // it did not answer in time
	Limited   Trouble = "limited"    // the service wants fewer requests
	Garbage   Trouble = "garbage"    // what it answered makes no sense
	Refused   Trouble = "refused"    // it failed, for a reason of its own
)

// Error is a program that did not do what it was asked.
type Error struct {
	Program string
	Doing   string // what it was called with, without long texts
	Trouble Trouble
	Said    string
}

func (e *Error) Error() string {
	switch e.Trouble {
	case Missing:
		if strings.ContainsAny(e.Program, `/\`) {
			return e.Program + " does not exist, or is not executable"
		}
		return e.Program + " is not installed"
	case LoggedOut:
		return e.Program + " is not logged in"
	case Slow:
		return fmt.Sprintf("%s did not answer within %s", e.Doing, e.Said)
	case Limited:
		return human.Lead(e.Doing+" is rate-limited: ", e.Said)
	case Garbage:
		return fmt.Sprintf("%s answered what makes no sense: %s", e.Doing, e.Said)
	case Refused:
	}
	return fmt.Sprintf("%s: %s", e.Doing, e.Said)
}

// Is says whether an error is a trouble of one of these kinds.
func Is(err error, kinds ...Trouble) bool {
	var e *Error
	return errors.As(err, &e) && slices.Contains(kinds, e.Trouble)
}

// program is one that is called with arguments and answers on its stdout.
type program struct {
	argv []string
	Options
}

func (p program) Name() string { return p.argv[0] }

// run calls the program with a text on its stdin, and returns what it prints.
func (p program) run(ctx context.Context, env []string, input string, args ...string) ([]byte, error) {
	fail := func(t Trouble, said string) error {
		if said = strings.TrimSpace(said); said == "" {
			said = "nothing"
		}
		return &Error{p.Name(), doing(p.argv, args), t, plain.Excerpt(said)}
	}
	path, err := proc.Lookup(p.argv[0], p.Dir, p.Env)
	if err != nil {
		return nil, fail(Missing, "")
	}
	limited, cancel := context.WithTimeout(ctx, p.Timeout)
	defer cancel()
	argv := slices.Concat([]string{path}, p.argv[1:], args)
	ran, err := proc.Run(limited, proc.Spec{Argv: argv, Dir: p.Dir, Env: append(slices.Clone(p.Env), env...)}, []byte(input), bounded.Data+1) // the beginning of a longer log would not say what failed
	said := strings.TrimSpace(string(ran.Stderr))
	if said == "" {
		said = strings.TrimSpace(string(plain.Head(ran.Stdout, 1<<10)))
	}
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.Is(err, context.DeadlineExceeded):
		return nil, fail(Slow, human.Duration(p.Timeout))
	case errors.Is(err, exec.ErrNotFound):
		return nil, fail(Missing, "")
	case err != nil:
		return nil, fail(Refused, err.Error())
	case len(ran.Stdout) > bounded.Data:
		return nil, fail(Garbage, "more than "+human.Bytes(bounded.Data))
	case !ran.Exit.Ok():
		return ran.Stdout, fail(troubleOf(ran.Exit, said), strings.Join(human.Parts(said, ran.Exit.String()), "; "))
	}
	return ran.Stdout, nil
}

// doing is a command line as an error names it: up to the first flag, behind which are texts that people wrote.
func doing(argv, args []string) string {
	words := argv[:1:1]
	for _, w := range args {
		if strings.HasPrefix(w, "-") {
			break
		}
		w, _, _ = strings.Cut(w, "?")
		words = append(words, w)
	}
	return strings.Join(words, " ")
}

// notLoggedIn is the exit status of gh without credentials.
const notLoggedIn = 4

// troubleOf reads what gh, glab and services say. Nothing but the advice depends on it.
func troubleOf(exit proc.Exit, said string) Trouble {
	said = strings.ToLower(said)
	has := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(said, w) })
	}
	switch {
	case has("rate limit", "too many requests", "http 429", "429 too"):
		return Limited
	case exit.Code == notLoggedIn, has("auth login", "http 401", "401 unauthorized", "bad credentials", "not logged in"):
		return LoggedOut
	}
	return Refused
}

// decode reads a value from an answer.
func (p program) decode(answer []byte, into any, args ...string) error {
	if err := json.Unmarshal(answer, into); err != nil {
		return p.garbage(answer, args...)
	}
	return nil
}

func (p program) garbage(answer []byte, args ...string) error {
	said := plain.Excerpt(strings.ToValidUTF8(string(plain.Head(answer, 1<<10)), "?"))
	if said == "" {
		said = "nothing"
	}
	return &Error{p.Name(), doing(p.argv, args), Garbage, said}
}

// pages reads lists that follow each other: programs print a list for each page, or one of all.
func pages[T any](p program, answer []byte, args ...string) (all []T, err error) {
	d := json.NewDecoder(bytes.NewReader(answer))
	for {
		var page []T
		switch err := d.Decode(&page); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, p.garbage(answer, args...)
		}
		all = append(all, page...)
	}
}
