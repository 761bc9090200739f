package modelagent

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"ralph/internal/permission"
	"ralph/internal/testing/check"
	_ "ralph/internal/testing/seeded" // the same values each time
	"ralph/internal/toolcall"
)

// box is a toolbox for a folder with these files.
func box(t *testing.T, files map[string]string) *toolbox {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		check.OK(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		check.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	b, warnings := openToolbox(t.Context(), dir, os.Environ(), nil)
	check.Equal(t, "warnings", []string(nil), warnings)
	t.Cleanup(b.close)
	return b
}

// call has a tool run, as a model calls it.
func call(t *testing.T, b *toolbox, name, args string) Block {
	t.Helper()
	r := b.run(t.Context(), Block{Kind: Call, ID: "c1", Name: name, Args: json.RawMessage(args)})
	check.Equal(t, "the result", Block{Kind: Result, ID: "c1", Name: name, Text: r.Text, Failed: r.Failed}, r)
	return r
}

func arguments(pairs ...any) string {
	m := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i].(string)] = pairs[i+1]
	}
	raw, _ := json.Marshal(m)
	return string(raw)
}

func content(t *testing.T, b *toolbox, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(b.dir, name))
	check.OK(t, err)
	return string(data)
}

func TestACallThatMakesNoSenseIsAResultThatSaysWhatWould(t *testing.T) {
	t.Parallel()
	b := box(t, map[string]string{"a.txt": "one\ntwo\n"})
	tests := map[string]struct{ tool, args, want string }{
		"an unknown tool":        {"Shell", `{}`, `there is no tool "Shell"; the tools are: read, write, edit, bash, glob, grep, fetch`},
		"no JSON":                {"read", `"{\"path\": "`, `the arguments are no JSON object: {"path":`},
		"a list":                 {"read", `["a.txt"]`, `the arguments are no JSON object: ["a.txt"]`},
		"no arguments":           {"read", ``, `the argument "path" is missing`},
		"null":                   {"read", `{"path": null}`, `the argument "path" is missing`},
		"what it takes":          {"read", `{}`, `the arguments of read have to be as its schema says: {"type":"object","properties":{"path":{"type":"string"}`},
		"another type":           {"read", `{"path": 7}`, `the argument "path" must not be a number`},
		"no number":              {"read", `{"path": "a.txt", "offset": "soon"}`, `the argument "offset" must not be a string`},
		"two arguments missing":  {"edit", `{"path": "a.txt"}`, "the argument \"old\" is missing\nthe argument \"new\" is missing"},
		"neither true nor false": {"edit", `{"path": "a.txt", "old": "one", "new": "1", "all": "maybe"}`, `the argument "all" must not be a string`},
		"an empty command":       {"bash", `{"command": " "}`, "the command is empty"},
		"a command too long":     {"bash", bash("#" + strings.Repeat("x", 64<<10)), "the command is longer than 64 KiB; write it into a file and run that"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := call(t, b, test.tool, test.args)
			check.That(t, r.Failed, "it did not fail")
			check.Contains(t, "the result", test.want, r.Text)
			_, err := b.describe(Block{Name: test.tool, Args: json.RawMessage(test.args)})
			check.Err(t, "describe", test.want, err)
		})
	}
}

func TestABugInAToolIsAResult(t *testing.T) {
	t.Parallel()
	b := box(t, nil)
	b.tools = append(b.tools,
		newTool(tool{Spec: Spec{Name: "senseless"}}, func(struct{}) (action, doing, error) { panic("no idea") }),
		newTool(tool{Spec: Spec{Name: "broken"}}, func(struct{}) (action, doing, error) {
			return action{}, func(context.Context) (string, error) { panic("no idea") }, nil
		}))
	for _, name := range []string{"senseless", "broken"} {
		r := call(t, b, name, `{}`)
		check.That(t, r.Failed, "it did not fail")
		check.Contains(t, "the result", "the tool has a bug, try another way: no idea", r.Text)
	}
	_, err := b.describe(Block{Name: "senseless"})
	check.Err(t, "describe", "the tool has a bug", err)
}

func TestArgumentsAreReadAsModelsWriteThem(t *testing.T) {
	t.Parallel()
	b := box(t, map[string]string{"a.txt": "one\ntwo\nthree\n"})
	for name, args := range map[string]string{
		"as the schema says": `{"path": "a.txt", "offset": 2, "limit": 1}`,
		"numbers as strings": `{"path": "a.txt", "offset": "2", "limit": "1"}`,
		"unknown members":    `{"path": "a.txt", "offset": 2, "limit": 1, "why": [null, {}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check.Contains(t, "the result", "     2\ttwo\n(there are more lines: read on with offset 3)\n", call(t, b, "read", args).Text)
		})
	}
}

func TestASpecIsAnObjectSchema(t *testing.T) {
	t.Parallel()
	for _, s := range box(t, nil).specs() {
		var schema struct {
			Type       string
			Properties map[string]struct{ Type string }
		}
		check.OK(t, json.Unmarshal(s.Schema, &schema))
		check.Equal(t, "the type of "+s.Name, "object", schema.Type)
		check.That(t, s.Description != "" && len(schema.Properties) > 0, "%s says too little", s.Name)
		for name, p := range schema.Properties {
			check.That(t, p.Type == "string" || p.Type == "integer" || p.Type == "boolean", "%s of %s is a %q", name, s.Name, p.Type)
		}
	}
}

func TestNoCallPanicsOrGoesWithoutAResult(t *testing.T) {
	b := box(t, map[string]string{"a.txt": "one\ntwo\n", "d/b.txt": "\x00"})
	rapid.Check(t, func(t *rapid.T) {
		args := map[string]any{}
		value := rapid.OneOf(
			rapid.Map(rapid.String(), func(s string) any { return s }), rapid.Map(rapid.Int(), func(i int) any { return i }),
			rapid.Map(rapid.Float64Range(-1e300, 1e300), func(f float64) any { return f }), rapid.Map(rapid.Bool(), func(b bool) any { return b }),
			rapid.SampledFrom([]any{nil, []any{1}, map[string]any{"x": 1}, "a.txt", "d", "..", "/", "*", "[", "true", "1"}),
		)
		for _, name := range []string{"path", "offset", "limit", "content", "old", "new", "all", "pattern", "glob", "timeout", "url"} {
			if rapid.Bool().Draw(t, "has "+name) {
				args[name] = value.Draw(t, name)
			}
		}
		raw, err := json.Marshal(args)
		check.OK(t, err)
		if rapid.Bool().Draw(t, "other JSON") {
			raw, _ = json.Marshal(value.Draw(t, "args"))
		}
		name := rapid.OneOf(rapid.SampledFrom([]string{"read", "write", "edit", "bash", "glob", "grep", "fetch"}), rapid.String()).Draw(t, "tool")
		c := Block{Kind: Call, ID: rapid.String().Draw(t, "id"), Name: name, Args: raw}
		_, err = b.describe(c)
		r := b.run(t.Context(), c)
		check.Equal(t, "the result", Block{Kind: Result, ID: c.ID, Name: c.Name, Text: r.Text, Failed: r.Failed}, r)
		check.That(t, utf8.ValidString(r.Text) && r.Text != "" && utf8.RuneCountInString(r.Text) <= maxResult, "the text is %q", r.Text)
		check.That(t, !strings.Contains(r.Text, "has a bug"), "a panic: %s", r.Text)
		check.That(t, err == nil || r.Failed, "describe says %v, run succeeds", err)
	})
}

// TestRulesSeeWhatACallDoes reads actions as ralph does: the core sends the title, the kind, the path as a location, the
// arguments as rawInput and a change as a diff.
func TestRulesSeeWhatACallDoes(t *testing.T) {
	t.Parallel()
	b := box(t, map[string]string{"secret.txt": "a", "d/main.go": "package d\n"})
	check.OK(t, os.Symlink("secret.txt", filepath.Join(b.dir, "innocent.txt")))
	tests := map[string]struct{ tool, args, rule, title string }{
		"a new file":          {"write", arguments("path", "x/secret.txt", "content", "b"), "write:**/secret.txt", "Write: x/secret.txt"},
		"an absolute path":    {"write", arguments("path", filepath.Join(b.dir, "secret.txt"), "content", "b"), "write:secret.txt", "Write: secret.txt"},
		"a link":              {"edit", arguments("path", "innocent.txt", "old", "a", "new", "b"), "edit:secret.txt", "Edit: secret.txt"},
		"a command":           {"bash", arguments("command", "cd d && touch forbidden.txt"), "execute:touch forbidden*", "Run: cd d && touch forbidden.txt"},
		"a page":              {"fetch", arguments("url", "https://example.com/a"), "fetch:https://example.com/*", "Fetch: https://example.com/a"},
		"a search":            {"grep", arguments("pattern", "key", "path", "d"), "search:d", "Search: key in d"},
		"a file that is read": {"read", arguments("path", "d/main.go"), "read:d/**", "Read: d/main.go"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, err := b.describe(Block{Name: test.tool, Args: json.RawMessage(test.args)})
			check.OK(t, err)
			check.Equal(t, "the title", test.title, a.Title)
			said := toolcall.Said{Title: a.Title, Kind: string(a.Kind), RawInput: json.RawMessage(test.args)}
			if a.Path != "" {
				said.Locations, _ = json.Marshal([]map[string]string{{"path": a.Path}})
			}
			rule, err := permission.ParseRule(test.rule)
			check.OK(t, err)
			c := said.Call(func(path string) string {
				if rel, err := filepath.Rel(b.dir, path); err == nil {
					return filepath.ToSlash(rel)
				}
				return path
			}).Complete()
			check.That(t, rule.Matches(c), "%s does not match %+v", test.rule, c)
		})
	}
}

func TestAChangeIsShownBeforeItIsMade(t *testing.T) {
	t.Parallel()
	b := box(t, map[string]string{"a.txt": "one\ntwo\n"})
	describe := func(tool, args string) action {
		a, err := b.describe(Block{Name: tool, Args: json.RawMessage(args)})
		check.OK(t, err)
		return a
	}
	path := func(name string) string { return filepath.Join(b.dir, name) }
	text := func(s string) *string { return &s }
	check.Equal(t, "an edit", action{"Edit: a.txt", "edit", path("a.txt"), text("one\ntwo\n"), text("one\n2\n"), true, true},
		describe("edit", arguments("path", "a.txt", "old", "two", "new", "2")))
	check.Equal(t, "a new file", action{"Write: b.txt", "edit", path("b.txt"), nil, text("b"), true, true}, describe("write", arguments("path", "b.txt", "content", "b")))
	check.Equal(t, "nothing is written", "one\ntwo\n", content(t, b, "a.txt"))
}
