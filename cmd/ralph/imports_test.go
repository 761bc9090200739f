package main

import (
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// goList returns every package of the module with all that it imports, tests left out.
func goList(t *testing.T) map[string][]string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, "./...")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	packages := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		packages[strings.TrimPrefix(words[0], "ralph/")] = words[1:]
	}
	return packages
}

// glue stands for everything but the command line: what a command does is done by the packages that it calls.
const glue = "anything"

// commandLine reports whether a package is one of commands.
func commandLine(path string) bool {
	return strings.HasPrefix(path, "cmd/") || path == "internal/cli" || strings.HasPrefix(path, "internal/cli/")
}

// TestPackagesImportWhatTheMapSays holds the code to the table of docs/dev/architecture.md.
func TestPackagesImportWhatTheMapSays(t *testing.T) {
	t.Parallel()
	table := between(t, "docs/dev/architecture.md", "## Packages", "\n## ")
	row := regexp.MustCompile("(?m)^\\| `([a-z/]+)` \\| ([^|]+) \\|([^|]*)\\|$")
	name := regexp.MustCompile("`([a-z/]+)`")
	allowed := map[string][]string{}
	for _, m := range row.FindAllStringSubmatch(table, -1) {
		for _, n := range name.FindAllStringSubmatch(m[3], -1) {
			allowed[m[1]] = append(allowed[m[1]], n[1])
		}
		switch imports := strings.TrimSpace(m[3]); {
		case imports == "anything":
			allowed[m[1]] = []string{"*"}
		case strings.HasPrefix(imports, "anything; "):
			allowed[m[1]] = append(allowed[m[1]], glue)
		case allowed[m[1]] == nil:
			allowed[m[1]] = []string{}
		}
	}
	packages := goList(t)
	for path, imports := range packages {
		may, listed := allowed[path]
		if !listed {
			t.Errorf("package %s is not in docs/dev/architecture.md", path)
			continue
		}
		for _, other := range imports {
			ours, ok := strings.CutPrefix(other, "ralph/")
			below := slices.Contains(may, glue) && !commandLine(ours)
			if ok && !slices.Contains(may, ours) && !slices.Contains(may, "*") && !below {
				t.Errorf("package %s imports %s, which docs/dev/architecture.md does not allow", path, ours)
			}
		}
	}
	for path := range allowed {
		if packages[path] == nil {
			t.Errorf("docs/dev/architecture.md lists %s, which does not exist", path)
		}
	}
}

// TestLibrariesStayBehindTheirPackage keeps each library behind the package that owns it.
func TestLibrariesStayBehindTheirPackage(t *testing.T) {
	t.Parallel()
	rules := map[string][]string{ // who may import a library
		"zombiezen.com/go/sqlite":     {"internal/db"},
		"modernc.org/sqlite":          {},
		"github.com/coder/acp-go-sdk": {"acp", "internal/agentside", "internal/modelagent", "internal/shellagent"},
		"github.com/urfave/cli/v2":    {"internal/cli"},
		"go.opentelemetry.io/":        {"internal/telemetry"},
		"charm.land/":                 {"internal/watch"},
		"github.com/adhocore/":        {"internal/cron"},
		"github.com/charmbracelet/":   {"internal/watch"},
		"ralph/cmd/ralph":             {},
	}
	pure := []string{"event", "forecast", "internal/human", "internal/ratelimit", "internal/words", "sigils", "prompt", "strategy"}
	for path, imports := range goList(t) {
		for _, other := range imports {
			for library, owners := range rules {
				if strings.HasPrefix(other, library) && !slices.Contains(owners, path) {
					t.Errorf("package %s imports %s; only %v may", path, other, owners)
				}
			}
			if slices.Contains(pure, path) && strings.Contains(strings.SplitN(other, "/", 2)[0], ".") {
				t.Errorf("package %s imports %s; it may import the standard library only", path, other)
			}
			if ours := []string{"ralph/internal/event", "ralph/internal/human", "ralph/internal/lazyregexp", "ralph/internal/plain", "ralph/internal/words", "ralph/sigils"}; slices.Contains(pure, path) &&
				strings.HasPrefix(other, "ralph/") && !slices.Contains(ours, other) {
				t.Errorf("package %s imports %s; it may import the standard library and %v only", path, other, ours)
			}
		}
	}
}
