// Package forge talks to the place where a project's pull requests are, through the program that its user has for that: gh, glab, or a
// command of their own. It is no client of any service: it never sees a credential, and it knows no address.
package forge

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// Forge is a place with pull requests, which GitLab calls merge requests.
type Forge interface {
	// Name is the program, for messages.
	Name() string
	// Find returns the open pull request of a branch; its number is 0 if there is none.
	Find(ctx context.Context, branch string) (Pull, error)
	// Save opens a pull request, or changes the one that has the number. What is empty stays as it is.
	Save(ctx context.Context, p Draft) (Pull, error)
	// Checks are those of the newest commit that the forge knows of a pull request.
	Checks(ctx context.Context, number int) (Checks, error)
	// Log is what a red check printed, as far as it is still there; "" if nobody knows.
	Log(ctx context.Context, c Check) (string, error)
	// Comments are what people said about a pull request, oldest first.
	Comments(ctx context.Context, number int) ([]Comment, error)
	// Commented says whether an issue has a comment that contains a text.
	Commented(ctx context.Context, issue Issue, text string) (bool, error)
	// Comment adds a comment to an issue.
	Comment(ctx context.Context, issue Issue, body string) error
}

// Pull is a pull request that is open.
type Pull struct {
	Number int    `json:"number"`
	URL    string `json:"url"`
	Base   string `json:"base"`
	Body   string `json:"body"`
}

// Draft is what a pull request is to be.
type Draft struct {
	Number int    `json:"number,omitempty"` // 0 opens one
	Branch string `json:"branch"`
	Base   string `json:"base"`
	Title  string `json:"title,omitempty"`
	Body   string `json:"body"`
	Draft  bool   `json:"draft,omitempty"` // only where it is opened
}

// State is how a check stands.
type State string

// The states.
const (
	Passed    State = "passed" // or skipped: nobody waits for it
	Failed    State = "failed"
	Pending   State = "pending"
	Cancelled State = "cancelled"
)

// Checks are what CI says about a commit. Without a commit nobody knows which.
type Checks struct {
	Commit string  `json:"commit"`
	List   []Check `json:"checks"`
}

// Check is one of them.
type Check struct {
	Name  string `json:"name"`
	State State  `json:"state"`
	URL   string `json:"url"`
	ID    string `json:"id"` // by which the forge finds its log
}

// Comment is something that somebody wrote. Text and author are theirs: nobody has cleaned them.
type Comment struct {
	ID     string `json:"id"`
	Author string `json:"author"`
	Text   string `json:"text"`
	Path   string `json:"path"` // of the file that it is about; "" for none
	Line   int    `json:"line"` // 0 for none
	URL    string `json:"url"`
}

// Issue is one of a repository.
type Issue struct {
	Repository string `json:"repository"` // OWNER/NAME
	Number     int    `json:"number"`
}

func (i Issue) String() string { return fmt.Sprintf("%s#%d", i.Repository, i.Number) }

// Options are what programs are run with.
type Options struct {
	Dir     string   // the project's folder
	Env     []string // of the user: gh and glab find their own credentials there
	Timeout time.Duration
	Home    Home
}

// Home is where a repository is on a forge. The zero value means that its remote does not say so: programs look for themselves.
type Home struct{ Host, Path string }

// HomeOf reads the address of a remote: https://HOST/PATH.git, ssh://git@HOST:PORT/PATH or git@HOST:PATH.
func HomeOf(remote string) Home {
	var rest string
	if scheme, after, is := strings.Cut(remote, "://"); is {
		if scheme != "https" && scheme != "http" && scheme != "ssh" && scheme != "git" {
			return Home{}
		}
		rest = after
	} else if host, path, is := strings.Cut(remote, ":"); is && !strings.Contains(host, "/") && len(host) > 1 { // one letter is a drive
		rest = host + "/" + path
	} else {
		return Home{}
	}
	host, path, _ := strings.Cut(rest, "/")
	if _, after, is := strings.Cut(host, "@"); is {
		host = after
	}
	host, _, _ = strings.Cut(host, ":")
	path = strings.TrimSuffix(strings.Trim(path, "/"), ".git")
	if host == "" || !strings.Contains(path, "/") {
		return Home{}
	}
	return Home{strings.ToLower(host), path}
}

// Kinds of forges, as they are configured.
const (
	Auto   = "auto"
	GitHub = "gh"
	GitLab = "glab"
	Own    = "command"
)

// Choose is the kind for a remote: gh for a host that is called so, glab for one that is called gitlab, and else the only one of the two
// that is installed. "" means that nobody knows.
func Choose(h Home, installed func(program string) bool) string {
	switch {
	case strings.Contains(h.Host, "github"):
		return GitHub
	case strings.Contains(h.Host, "gitlab"):
		return GitLab
	case installed(GitHub) && !installed(GitLab):
		return GitHub
	case installed(GitLab) && !installed(GitHub):
		return GitLab
	}
	return ""
}

// New is the forge of a kind. The command is for Own.
func New(kind, command string, o Options) (Forge, error) {
	switch kind {
	case GitHub:
		return gh{program{[]string{GitHub}, o}}, nil
	case GitLab:
		return glab{program{[]string{GitLab}, o}}, nil
	case Own:
		return newOwn(command, o)
	}
	return nil, fmt.Errorf("%q is no forge", kind)
}
