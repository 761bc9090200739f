package proof

import (
	"testing"

	"ralph/internal/testing/check"
)

func TestCommands(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		spec     string
		commands []string
		others   string
	}{
		"none":                   {"# Login\n\n`go test ./...`\n", nil, ""},
		"lines of code":          {"## Success criteria\n\n`go test ./...`\n- `make lint`\n2. `./check.sh`.\n- [ ] `go vet ./...` passes\n* `make e2e` succeeds;\n", []string{"go test ./...", "make lint", "./check.sh", "go vet ./...", "make e2e"}, ""},
		"prose is none":          {"## Acceptance\n- `make` prints a warning\n- It is fast.\n- run `make`\n", nil, "- `make` prints a warning\n- It is fast.\n- run `make`"},
		"names are none":         {"## Acceptance criteria:\n- `README.md`\n- `--json`\n- `Parse()`\n- `200 OK`\n- `make`\n", []string{"make"}, "- `README.md`\n- `--json`\n- `Parse()`\n- `200 OK`"},
		"other headings":         {"## Goals\n- `make a`\n### Success Criteria\n- `make b`\n#### Later\n- `make c`\n### More\n- `make d`\n# 4. ACCEPTANCE\n- `make e`\n", []string{"make b", "make c", "make e"}, "#### Later"},
		"a block of a shell":     {"# Acceptance\n```sh\nmake a\n\nmake b \\\n  --all\n```\n", []string{"make a", "make b --all"}, ""},
		"no language":            {"# Acceptance\n~~~\nmake a\n~~~\n", []string{"make a"}, ""},
		"another language":       {"# Acceptance\n```go\nmain()\n```\n", nil, "```go\nmain()\n```"},
		"what it prints":         {"# Acceptance\n```console\n$ make a\nok\n```\n", []string{"make a"}, "```console\n$ make a\nok\n```"},
		"a comment":              {"# Acceptance\n```\n# twice\nmake a\n```\n", []string{"make a"}, "```\n# twice\nmake a\n```"},
		"a block without an end": {"# Acceptance\n```\nmake a\n# Acceptance\n", []string{"make a"}, "```\nmake a\n# Acceptance"},
		"a heading in a block":   {"```\n# Acceptance\nmake a\n```\n", nil, ""},
		"the same twice":         {"# Acceptance\n- `make`\n- `make`\r\n", []string{"make"}, ""},
		"nothing in a block":     {"# Acceptance\n```\n```\n", nil, "```\n```"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			commands, others := Commands(tt.spec)
			check.Equal(t, "commands", tt.commands, commands)
			check.Equal(t, "others", tt.others, others)
		})
	}
}
