package wiring

import (
	"fmt"

	"ralph/dag"
	"ralph/internal/cli"
	"ralph/internal/inbox"
	"ralph/internal/permission"
	"ralph/internal/project"
	"ralph/internal/provenance"
	"ralph/loop/attempt"
)

// NewBook is the rules of a project.
func NewBook(a *cli.App, p project.Project, config project.Loaded) (*permission.Book, error) {
	b := BookOf(a, p)
	return b, openBook(b, config)
}

// BookOf is the book of rules of a project, before it is opened.
func BookOf(a *cli.App, p project.Project) *permission.Book {
	return &permission.Book{Linked: provenance.Linked{Path: cli.TrustOf(a, p).File("permissions.toml"), Link: p.Permissions()}}
}

func openBook(b *permission.Book, config project.Loaded) error {
	if err := b.Open(config.Permissions.Lists()); err != nil {
		return fmt.Errorf("%w: %w", project.ErrConfig, err)
	}
	return nil
}

// Rules are for a run. If its agents can write the link to the file of remembered answers, it is looked at after each of them.
func Rules(a *cli.App, s *cli.Session, loose bool) (*permission.Book, error) {
	b := BookOf(a, s.Project)
	b.Warn = func(text string) { a.Note("warning: %s", text) }
	NoteStray(a, b)
	if loose {
		b.Watch()
	}
	return b, openBook(b, s.Config)
}

// NoteStray says that there are rules which do not count, because nobody knows whether a person wrote them.
func NoteStray(a *cli.App, b *permission.Book) {
	if b.Stray() {
		a.Note("warning: %s does not count, because an agent may have written it; if it is yours: ralph config trust", b.Link)
	}
}

// Remember adds the rule that a person's answer to an agent's call makes, and says so.
func Remember(a *cli.App, s *cli.Session, r inbox.Request) (string, error) {
	answer := attempt.PermissionAnswer(r)
	if r.Kind != inbox.Permission || answer.Remember == "" {
		return "", nil
	}
	call, err := attempt.Asked(r)
	var book *permission.Book
	if err == nil {
		book, err = NewBook(a, s.Project, s.Config)
	}
	if err == nil {
		err = book.Add(book.Decide(call), answer.Remember, r.AnsweredBy, a.Now())
	}
	if err != nil {
		return "", fmt.Errorf("%w: %s is not answered, because it could not be remembered: %w", dag.ErrRefused, r.ID, err)
	}
	return fmt.Sprintf("%s: %s from now on; see %s", r.ID, answer.Remember, s.Project.Permissions()), nil
}
