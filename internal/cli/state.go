package cli

import (
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"strings"

	"ralph/internal/project"
	"ralph/internal/provenance"
)

// HistoryOf remembers who changed the configuration of a project.
func HistoryOf(a *App, p project.Project) *provenance.History {
	return TrustOf(a, p).History(p.Texts)
}

// Blame adds to the error of a configuration that cannot be used which attempts have
// changed it: no run can begin and say so. What people wrote needs no such hint.
func Blame(a *App, p project.Project, err error) error {
	var parts []string
	for _, change := range HistoryOf(a, p).Changes() {
		if change.ByAgent {
			parts = append(parts, change.File+": "+change.String())
		}
	}
	if len(parts) == 0 {
		return err
	}
	return Hint(err, "%s", strings.Join(parts, "; "))
}

// Credentials is where the values are that people gave to agents.
func (a *App) Credentials() string { return filepath.Join(a.StateHome(), "ralph", "credentials") }

// CredentialsOf are the values that people gave to agents of a project.
func (a *App) CredentialsOf(s *Session) provenance.Values {
	return provenance.Values{Store: provenance.Store{Dir: filepath.Join(a.Credentials(), FolderOf(RealPath(s.Project.Root)))}}
}

// Trusts is where everything lies that no agent may write, and TrustOf what is about a project.
func Trusts(a *App) string { return filepath.Join(a.StateHome(), "ralph", "trust") }

// TrustOf is where everything about a project lies that no agent may write.
func TrustOf(a *App, p project.Project) provenance.Store {
	return provenance.Store{Dir: filepath.Join(Trusts(a), FolderOf(RealPath(p.Root)))}
}

// RealPath is where a folder is, however a shell got there.
func RealPath(dir string) string {
	if path, err := filepath.EvalSymlinks(dir); err == nil {
		return path
	}
	return dir
}

// FolderOf is the name of a project's folder among those of others.
func FolderOf(root string) string {
	sum := sha256.Sum256([]byte(root))
	return fmt.Sprintf("%s-%x", filepath.Base(root), sum[:4])
}

// ServerFolder has what servers keep from agents: every sandbox hides it. Tokens belong there. The paths of all tokens are in a
// file of it, which every run reads, so that those in other folders are hidden, too.
func ServerFolder(a *App) string { return filepath.Join(a.StateHome(), "ralph", "serve") }
