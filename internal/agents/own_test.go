package agents_test

import (
	"errors"
	"slices"
	"testing"

	"ralph/acp"
	"ralph/internal/agents"
	"ralph/internal/project"
	"ralph/internal/testing/check"
)

// TestRalphsOwnAgentIsChosenByWhatIsHere: a key before a server, and neither before a program, which finds its own way.
func TestRalphsOwnAgentIsChosenByWhatIsHere(t *testing.T) { //nolint:paralleltest // it sets PATH
	t.Setenv("PATH", t.TempDir())
	withKey := project.Loaded{}
	withKey.Agents = map[string]project.CustomAgent{"openai": {Env: map[string]string{"OPENAI_API_KEY": "o"}}}
	renamed := project.Loaded{}
	renamed.Agents = map[string]project.CustomAgent{"local": {Command: "my-agent --acp"}}
	for name, tt := range map[string]struct {
		config  project.Loaded
		environ []string
		serves  bool
		want    string
	}{
		"nothing":                              {want: ""},
		"a key":                                {environ: []string{"ANTHROPIC_API_KEY=a"}, want: "anthropic"},
		"a token":                              {environ: []string{"ANTHROPIC_AUTH_TOKEN=a"}, want: "anthropic"},
		"an address without a key":             {environ: []string{"ANTHROPIC_BASE_URL=http://x"}, want: ""},
		"an empty key":                         {environ: []string{"ANTHROPIC_API_KEY="}, want: ""},
		"another provider's key":               {environ: []string{"OPENAI_API_KEY=o"}, want: "openai"},
		"two keys":                             {environ: []string{"OPENAI_API_KEY=o", "ANTHROPIC_API_KEY=a"}, want: "anthropic"},
		"a server":                             {serves: true, want: "local"},
		"a key and a server":                   {environ: []string{"OPENAI_API_KEY=o"}, serves: true, want: "openai"},
		"a key in the configuration":           {config: withKey, want: "openai"},
		"a program of the user's, named alike": {config: renamed, serves: true, want: ""},
	} {
		looked := false
		f := agents.Finder{Config: tt.config, Self: "/bin/sh", Environ: tt.environ, Serves: func([]string) bool { looked = true; return tt.serves }}
		got, err := f.Choose("")
		if tt.want == "" {
			check.That(t, errors.Is(err, agents.ErrNone), "%s: got %v, want no agent", name, err)
			continue
		}
		check.OK(t, err)
		check.Equal(t, name, tt.want, got.Name)
		check.Equal(t, name+": argv", []string{"/bin/sh", "agent", "--provider", tt.want}, got.Argv)
		check.Equal(t, name+": looked for a server", tt.want == "local", looked)
	}
}

// TestANameOfRalphsOwnDoesNotTakeOverAUsersProgram: who called a program "local" before there was one of that name
// still has that program, of which nobody knows anything.
func TestANameOfRalphsOwnDoesNotTakeOverAUsersProgram(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"anthropic", "openai", "local"} {
		got, ok := agents.Define(agents.Definition{Name: name, Command: []string{"my-agent"}})
		check.That(t, ok && got.Unknown && got.Name == name && got.Needs == agents.Nothing && len(got.Self) == 0 && slices.Contains(got.Credentials, "OPENROUTER_API_KEY"),
			"got %+v, want an unknown agent of that name", got)
		known := preset(t, name)
		check.Equal(t, "what it says does not make it another", known, agents.Identify(known, "ralph"))
	}
}

// TestRalphsOwnWithFlagsIsKnown: it keeps its folder and its variables, and gets no others.
func TestRalphsOwnWithFlagsIsKnown(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"wide", "local"} {
		command := []string{"/opt/ralph", "agent", "--provider", "local", "--window", "65536"}
		got, ok := agents.Define(agents.Definition{Name: name, Command: command})
		want := preset(t, "local")
		want.Name, want.Command, want.Self, want.Needs = name, command, nil, agents.Nothing
		check.That(t, ok, "no agent")
		check.Equal(t, name, want, got)
	}
	got, _ := agents.Define(agents.Definition{Name: "other", Command: []string{"ralph", "agent", "--provider"}})
	check.That(t, got.Unknown, "got %+v, want an unknown agent", got)
}

func TestAdviceFitsAnAgentThatIsAPartOfRalph(t *testing.T) {
	t.Parallel()
	for kind, want := range map[acp.Kind]string{
		acp.AuthRequired: "set ANTHROPIC_API_KEY; then try again: ralph agents test anthropic",
		acp.Died:         "see what it says when started by hand: ralph agent --provider anthropic",
	} {
		check.Equal(t, string(kind), want, agents.Advice(&acp.Error{Kind: kind}, preset(t, "anthropic")))
	}
	check.Equal(t, "of the other one", "see what it says when started by hand: ralph shell-agent", agents.Advice(&acp.Error{Kind: acp.Died}, preset(t, "shell")))
}
