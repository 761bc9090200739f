package cli

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"

	"ralph/internal/agents"
	"ralph/internal/proc"
	"ralph/internal/project"
)

// Finder finds the agents that a configuration knows.
func (a *App) Finder(config project.Loaded) agents.Finder {
	return agents.Finder{Config: config, Self: a.Self(), Environ: a.Environ(), Redact: a.Redact, Serves: Serves(a)}
}

// Self is this very program, for the built-in agent. The name it was called by
// comes first: a link may be what makes it ralph.
func (s System) Self() string {
	if path, err := exec.LookPath(s.Called); err == nil {
		if abs, err := filepath.Abs(path); err == nil {
			return abs
		}
	}
	path, err := os.Executable()
	if err != nil {
		return s.Called
	}
	return path
}

// Served is what a model server on this machine offers.
type Served struct {
	URL    string
	Models []string
}

// Serves reports whether there is a model server, and looks for it once for each address. Whoever names an address is
// believed: why it does not answer is told by what needs it.
func Serves(a *App) func(environ []string) bool {
	known := map[string]bool{}
	return func(environ []string) bool {
		if proc.Getenv(environ, "OPENAI_BASE_URL") != "" {
			return true
		}
		host := proc.Getenv(environ, "OLLAMA_HOST")
		if _, looked := known[host]; !looked && a.Models != nil {
			_, known[host] = a.Models(environ)
		}
		return known[host]
	}
}

// ConfigHere is the project's configuration, or the user's where there is no project.
func ConfigHere(a *App) (project.Loaded, error) {
	p, err := a.FindProject()
	if errors.Is(err, project.ErrNone) && a.Dir == "" {
		return a.LoadConfig("")
	}
	if err != nil {
		return project.Loaded{}, err
	}
	return a.LoadConfig(p.Config())
}
