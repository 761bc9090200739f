package suite

import (
	"io/fs"
	"strings"
	"testing"

	"ralph/internal/git"
	"ralph/internal/testing/check"
)

// TestAGateThatTheWorkMadePossibleTellsNothing about the old files: there was nothing to run.
func TestAGateThatTheWorkMadePossibleTellsNothing(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		base, work files
		gate       string
		green      bool // before the work
		want       bool
	}{
		"a changed test":            {files{"a_test.go": "1"}, files{"a_test.go": "2"}, "go test ./...", false, true},
		"a new script":              {files{"a_test.go": "1"}, files{"a_test.go": "2", "check.sh": "go test"}, "./check.sh", false, false},
		"a new Makefile":            {files{"a_test.go": "1"}, files{"a_test.go": "2", "Makefile": "test:\n"}, "make test", false, false},
		"a new target":              {files{"a_test.go": "1", "Makefile": "all:\n"}, files{"a_test.go": "2", "Makefile": "test:\n"}, "make test", false, false},
		"a target that was":         {files{"a_test.go": "1", "Makefile": "test:\n"}, files{"a_test.go": "2", "Makefile": "test: x\n"}, "make test", false, true},
		"a target from outside":     {files{"a_test.go": "1", "Makefile": "include x.mk\n"}, files{"a_test.go": "2", "Makefile": "include x.mk\n"}, "make test", false, true},
		"a new script of npm":       {files{"a.test.js": "1", "package.json": "{}"}, files{"a.test.js": "2", "package.json": `{"scripts":{"test":"jest"}}`}, "npm test", false, false},
		"a built program":           {files{"a_test.go": "1"}, files{"a_test.go": "2"}, ".venv/bin/pytest", false, true},
		"the first settings, red":   {files{"a.py": "1"}, files{"a.py": "2", "pytest.ini": "x", "test_a.py": "1"}, "pytest", false, false},
		"the first settings, green": {files{"a.py": "1"}, files{"a.py": "2", "ruff.toml": "x"}, "ruff check", true, true},
		"settings for old tests":    {files{"test_a.py": "1"}, files{"test_a.py": "1", "pytest.ini": "x"}, "pytest", false, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, _ := plan(t, tt.base, tt.work, "", tt.gate)
			check.That(t, len(p.Changed) > 0, "nothing changed")
			check.Equal(t, "tells", tt.want, p.Tells(tt.gate, tt.green))
		})
	}
}

func TestAGateThatRunsNothingIsIdle(t *testing.T) {
	t.Parallel()
	const mk = "lint:\n\tgolint\ntest: # all\n\tgo test ./...\n"
	tests := map[string]struct {
		base, work files
		gate, want string
	}{
		"an emptied script":    {files{"check.sh": "go test\n"}, files{"check.sh": "#!/bin/sh\nset -e\necho fine\n"}, "./check.sh", "check.sh"},
		"a script that leaves": {files{"check.sh": "go test\n"}, files{"check.sh": "exit 0\ngo test\n"}, "sh check.sh", "check.sh"},
		"a new script":         {files{}, files{"check.sh": "true\n"}, "./check.sh", "check.sh"},
		"an emptied target":    {files{"Makefile": mk}, files{"Makefile": "lint:\n\tgolint\ntest:\n\t@echo fine\n"}, "make test", "Makefile (test)"},
		"a new target":         {files{}, files{"Makefile": "test:\n\t@true\n"}, "make test", "Makefile (test)"},
		"a target with a need": {files{"Makefile": mk}, files{"Makefile": "unit:\n\tgo test\ntest: unit\n\t@echo fine\n"}, "make test", ""},
		"an emptied script of npm": {
			files{"package.json": `{"scripts":{"test":"jest"}}`}, files{"package.json": `{"scripts":{"test":"echo no tests && exit 0"}}`}, "npm test", "package.json (test)",
		},
		"a script that works":   {files{"check.sh": "go test\n"}, files{"check.sh": "go vet\n"}, "./check.sh", ""},
		"it never did anything": {files{"check.sh": "true\n"}, files{"check.sh": "echo\n"}, "./check.sh", ""},
	}
	for name, tt := range tests {
		s, err := Of(Base{Gates: []string{tt.gate}, Read: tt.base.read})
		check.OK(t, err)
		check.Equal(t, name, tt.want, strings.Join(s.Idle(changes(tt.base, tt.work), tt.work.read), " "))
	}
}

// TestAGateThatNamesNoFileReadsNothing: most projects pay nothing for being asked.
func TestAGateThatNamesNoFileReadsNothing(t *testing.T) {
	t.Parallel()
	read := func(path string) ([]byte, error) { t.Errorf("%s is read", path); return nil, fs.ErrNotExist }
	s, err := Of(Base{Gates: []string{"go test ./...", "go vet ./...", "pytest -q", "cargo test", "test -f README.md"}, Read: read})
	check.OK(t, err)
	p, err := s.Plan([]git.Change{{Path: "main.go", Kind: git.Modified}, {Path: "a.py", Kind: git.Added}}, read)
	check.That(t, err == nil && len(p.Changed)+len(p.Edits) == 0, "got %v, %v", p, err)
}
