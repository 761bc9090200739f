package forge_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"ralph/internal/forge"
	"ralph/internal/testing/check"
)

// long is for calls that answer at once.
const long = time.Minute

func TestRemotesSayWhereTheyAre(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]forge.Home{
		"https://github.com/acme/app.git":          {Host: "github.com", Path: "acme/app"},
		"https://user:token@GitHub.com/acme/app":   {Host: "github.com", Path: "acme/app"},
		"git@gitlab.com:acme/tools/app.git":        {Host: "gitlab.com", Path: "acme/tools/app"},
		"ssh://git@git.example.com:2222/acme/app/": {Host: "git.example.com", Path: "acme/app"},

		"../remote.git":            {},
		"/srv/git/app.git":         {},
		`C:\git\app.git`:           {},
		"file:///srv/acme/app.git": {},
		"https://github.com":       {},
		"":                         {},
	} {
		check.Equal(t, address, want, forge.HomeOf(address))
	}
}

func TestTheForgeIsChosenByHostAndByWhatIsInstalled(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ host, installed, want string }{
		"github":                     {"github.com", "glab", "gh"},
		"github of a company":        {"github.example.com", "", "gh"},
		"gitlab":                     {"gitlab.example.com", "gh", "glab"},
		"another host, only gh":      {"git.example.com", "gh", "gh"},
		"another host, only glab":    {"git.example.com", "glab", "glab"},
		"another host, both":         {"git.example.com", "gh glab", ""},
		"a path, and none of them":   {"", "", ""},
		"a path, and only gh exists": {"", "gh", "gh"},
	}
	for name, test := range tests {
		got := forge.Choose(forge.Home{Host: test.host}, func(p string) bool { return strings.Contains(" "+test.installed+" ", " "+p+" ") })
		check.Equal(t, name, test.want, got)
	}
}

func TestTroubleHasAKind(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		answer answer
		want   forge.Trouble
		says   string
	}{
		"gh without a login":        {answer{Stderr: "To get started with GitHub CLI, please run:  gh auth login\n", Exit: 4}, forge.LoggedOut, "gh is not logged in"},
		"gh with an old token":      {answer{Stderr: "HTTP 401: Bad credentials (https://api.github.com/graphql)\nTry authenticating with:  gh auth login\n", Exit: 1}, forge.LoggedOut, "gh is not logged in"},
		"a rate limit":              {answer{Stderr: "GraphQL: API rate limit already exceeded for user ID 1.\n", Exit: 1}, forge.Limited, "gh pr list is rate-limited: GraphQL: API rate limit already exceeded"},
		"a secondary rate limit":    {answer{Stderr: "HTTP 403: You have exceeded a secondary rate limit.\n", Exit: 1}, forge.Limited, "secondary rate limit"},
		"garbage":                   {answer{Stdout: "<html>\n<b>Welcome to the hotel</b>"}, forge.Garbage, "answered what makes no sense: <html> <b>Welcome to the hotel</b>"},
		"nothing":                   {answer{}, forge.Garbage, "answered what makes no sense: nothing"},
		"half an answer":            {answer{Stdout: `[{"number": 1`}, forge.Garbage, `[{"number": 1`},
		"another failure":           {answer{Stderr: "could not resolve to a Repository\n", Exit: 1}, forge.Refused, "gh pr list: could not resolve to a Repository; exit status 1"},
		"a failure without a word":  {answer{Exit: 3}, forge.Refused, "exit status 3"},
		"a very long complaint":     {answer{Stderr: strings.Repeat("no ", 100_000), Exit: 1}, forge.Refused, "no no no"},
		"a program that is too old": {answer{Stderr: "unknown flag: --json\n", Exit: 1}, forge.Refused, "unknown flag: --json"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := newStandIn(t, forge.GitHub, long, test.answer).Find(t.Context(), "ralph/login")
			check.That(t, forge.Is(err, test.want), "got %v, want %s", err, test.want)
			check.Contains(t, "error", test.says, err.Error())
			check.That(t, len(err.Error()) < 1000, "the error has %d bytes", len(err.Error()))
		})
	}
}

func TestAProgramThatIsNotThere(t *testing.T) {
	t.Parallel()
	f, err := forge.New(forge.GitHub, "", forge.Options{Dir: t.TempDir(), Env: []string{"PATH=" + t.TempDir()}, Timeout: long})
	check.OK(t, err)
	_, err = f.Find(t.Context(), "b")
	check.That(t, forge.Is(err, forge.Missing), "got %v", err)
	check.Equal(t, "error", "gh is not installed", err.Error())
}

func TestASlowProgramIsEnded(t *testing.T) {
	t.Parallel()
	_, err := newStandIn(t, forge.GitLab, 200*time.Millisecond, answer{Hangs: true}).Find(t.Context(), "b")
	check.That(t, forge.Is(err, forge.Slow), "got %v", err)
	check.Contains(t, "error", "did not answer within", err.Error())
}

func TestASlowProgramIsEndedByItsCaller(t *testing.T) {
	t.Parallel()
	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	s := newStandIn(t, forge.GitHub, long, answer{Hangs: true})
	ended := make(chan error, 1)
	go func() { _, err := s.Find(ctx, "b"); ended <- err }()
	cancel(enough)
	check.That(t, errors.Is(<-ended, enough), "another error than the cause of the caller")
}
