//go:build unix

package knowledge_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ralph/internal/testing/check"
	"ralph/knowledge"
)

func skill(name, description string) string {
	return "---\nname: " + name + "\ndescription: " + description + "\n---\n" + strings.Repeat("How it is done.\n", 10)
}

func TestSkillsMatchByTheirDescription(t *testing.T) {
	t.Parallel()
	root := project(t, map[string]string{
		".ralph/skills/fuzzing/SKILL.md":   skill("fuzzing", "How to write fuzz tests for parsers"),
		".claude/skills/fuzz/SKILL.md":     skill("Fuzzing", "the same name, in the other folder, fuzz tests parsers"),
		".claude/skills/pdf/SKILL.md":      skill("pdf", "Use when the user asks for PDF files"),
		".claude/skills/release/SKILL.md":  skill("release", "Cut a release, write the changelog"),
		".claude/skills/nameless/SKILL.md": "---\ndescription: fuzz the parsers for ever\n---\n" + strings.Repeat("x", 200<<10),
		".claude/skills/empty/README.md":   "no skill",
		".claude/skills/file":              "no folder",
	})
	for title, want := range map[string][]string{
		"Write fuzz tests for the parsers": {"fuzzing .ralph/skills/fuzzing/SKILL.md 3", "nameless .claude/skills/nameless/SKILL.md 2"},
		"Read a PDF":                       {"pdf .claude/skills/pdf/SKILL.md 1"},
		"changelog":                        nil, // one word that is not in the name
		"the user asks for files":          nil, // words that every description has
		"":                                 nil,
	} {
		got, warnings := knowledge.Skills(root, knowledge.Query{Title: title})
		lines := titles(got, func(s knowledge.Skill) string { return fmt.Sprint(s.Name, " ", s.Path, " ", s.Score) })
		if diff := cmp.Diff(want, lines); diff != "" || len(warnings) > 0 {
			t.Errorf("%q: %v (-want +got):\n%s", title, warnings, diff)
		}
	}
}

func TestHostileSkillsAreWarnings(t *testing.T) {
	t.Parallel()
	outside := project(t, map[string]string{"SKILL.md": skill("outside", "fuzz the parsers")})
	root := project(t, map[string]string{
		".claude/skills/good/SKILL.md":    skill("good", "fuzz the parsers"),
		".claude/skills/broken/SKILL.md":  "---\nname: [\n---\n",
		".claude/skills/silent/SKILL.md":  "---\nname: silent\n---\n",
		".claude/skills/binary/SKILL.md":  "---\x00",
		".claude/skills/endless/SKILL.md": "---\ndescription: " + strings.Repeat("x", 1<<20),
		".claude/skills/link/x":           "", ".claude/skills/pipe/x": "",
	})
	folder := filepath.Join(root, ".claude/skills")
	for _, err := range []error{
		os.Symlink("/etc/passwd", filepath.Join(folder, "link/SKILL.md")), os.Symlink(outside, filepath.Join(folder, "outside")),
		syscall.Mkfifo(filepath.Join(folder, "pipe/SKILL.md"), 0o600), os.Symlink("/etc", filepath.Join(root, ".ralph")),
	} {
		check.OK(t, err)
	}
	got, warnings := knowledge.Skills(root, knowledge.Query{Title: "fuzz the parsers"})
	if len(got) != 1 || got[0].Name != "good" {
		t.Errorf("got %+v", got)
	}
	var named []string
	for _, w := range warnings {
		named = append(named, strings.TrimSuffix(strings.TrimPrefix(w.File, ".claude/skills/"), "/SKILL.md"))
	}
	want := []string{".ralph/skills", "binary", "broken", "endless", "link", "outside", "pipe", "silent"}
	if diff := cmp.Diff(want, named); diff != "" {
		t.Errorf("%v (-want +got):\n%s", warnings, diff)
	}
}

func TestSkillsAreBounded(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	for i := range 300 {
		files[fmt.Sprintf(".ralph/skills/%03d/SKILL.md", i)] = skill(fmt.Sprintf("s%03d", i), "fuzz the parsers "+strings.Repeat("and more ", 100))
	}
	got, warnings := knowledge.Skills(project(t, files), knowledge.Query{Title: "fuzz the parsers"})
	if len(got) != 5 || got[0].Name != "s000" || len(got[0].Description) > 300 || len(warnings) != 1 {
		t.Errorf("got %d skills, %v", len(got), warnings)
	}
}
