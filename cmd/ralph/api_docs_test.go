package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"ralph/internal/cli"
	"ralph/internal/testing/check"
	"ralph/internal/testing/golden"
	"ralph/internal/web"
)

// TestEveryCommandCanBeAskedForOrNot: a new command is in one of the two lists of internal/web/commands.go.
func TestEveryCommandCanBeAskedForOrNot(t *testing.T) {
	t.Parallel()
	root := newApp(cli.System{}).Root
	for name, c := range visible("", newApp(cli.System{}).Root.Sub) {
		if c.Run == nil {
			continue // a group
		}
		line, err := cli.LineOf(root, append(strings.Fields(name), "--"))
		check.OK(t, err)
		_, _, err = web.Ask(line)
		check.That(t, err == nil || strings.Contains(err.Error(), ": "), "ralph%s: say in internal/web/commands.go whether it may be asked for from outside, or why not", name)
	}
}

// harmless are the flags of commands that only look, when they are typed alone. A new one that changes something has to be among
// what internal/web/commands.go says of its command, or a server that is read-only changes it.
var harmless = strings.Fields(`json ready status feature tag all limit format depth with-status task jobs until agent model morning since output follow full by run
	outcome watch wait timeout dry-run yes older-than base target remote title draft max-cost max-duration effort sandbox count denied help`)

// TestWhatOnlyLooksHasNoFlagThatChanges: whatever flag is typed, a command that is said to look changes nothing.
func TestWhatOnlyLooksHasNoFlagThatChanges(t *testing.T) {
	t.Parallel()
	root := newApp(cli.System{}).Root
	for name, c := range visible("", newApp(cli.System{}).Root.Sub) {
		if c.Run == nil {
			continue
		}
		for _, f := range c.Flags {
			typed := "--" + f.Name
			if _, isBool := f.Value.(bool); !isBool {
				typed += "=1"
			}
			line, err := cli.LineOf(root, append(strings.Fields(name), typed))
			if err != nil {
				continue // it names a file, or is no number
			}
			if changes, _, err := web.Ask(line); err == nil && !changes {
				check.That(t, slices.Contains(harmless, f.Name), "ralph%s --%s: does it change something? say so in internal/web/commands.go, or here that it does not", name, f.Name)
			}
		}
	}
	for typed, want := range map[string]bool{
		"gc --dry-run": false, "gc --dry-run=true": false, "gc --dry-run=false": true, "gc": true, "gc --dry-run --dry-run=false": true, "gc --dry-run=false --dry-run": false, "recover --dry-run=0": true, "pr --dry-run=F x": true,
		"feature gate x": false, "feature gate x --none": true, "feature gate x --none=false": false, "feature gate x make": true,
		"task export": false, "task export --save": true, "doctor": false, "doctor --fix": true, "doctor --fix=false": false, "task log t": false, "task log t -m=x": true,
	} {
		line, err := cli.LineOf(root, strings.Fields(typed))
		check.OK(t, err)
		changes, _, err := web.Ask(line)
		check.OK(t, err)
		check.Equal(t, typed+" changes something", want, changes)
	}
}

// TestTheAPIIsDocumented writes internal/web/openapi.yaml from the addresses of the API, the flags of their commands, and what those print.
func TestTheAPIIsDocumented(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.run(0, "feature", "create", "login")
	task := b.add("Design it", "--feature", "login", "--gate", "go test ./...")
	b.run(0, "task", "log", task, "-m", "keep it small")
	b.run(0, "knowledge", "add", "Forms need labels", "--tag", "form", "-d", "For screen readers.")
	question := questionOf(t, b, b.add("Ask something"))
	b.pretendRun()
	var runs []struct{ ID string }
	check.OK(t, json.Unmarshal([]byte(b.run(0, "runs", "--json")), &runs))

	var doc strings.Builder
	doc.WriteString(apiIntro)
	for _, r := range web.Routes {
		path, name := r.Path, r.Command
		c, found := commandNamed(newApp(cli.System{}).Root, strings.Fields(name))
		if !found {
			continue // schedules come later
		}
		fmt.Fprintf(&doc, "  /%s:\n    get:\n      summary: %q\n      description: %q\n", path, c.Short, "What ralph "+name+" --json prints.")
		writeParameters(&doc, path, c)
		typed := strings.NewReplacer("runs/{id}", runs[0].ID, "tasks/{id}", task, "inbox/{id}", question, "features/{name}", "login").Replace(path)
		args := append(strings.Fields(name), "--json")
		if typed != path {
			args = append(args, strings.Split(typed, "/")[0])
		}
		kind, schema := "application/x-ndjson", map[string]any{"type": "object"}
		if name != "logs" {
			var v any
			check.OK(t, json.Unmarshal([]byte(b.run(0, args...)), &v))
			kind, schema = "application/json", schemaOf(v)
		}
		data, err := json.Marshal(schema)
		check.OK(t, err)
		fmt.Fprintf(&doc, "      responses:\n        \"200\":\n          description: OK\n          content:\n            %s:\n              schema: %s\n        default: {$ref: \"#/components/responses/Error\"}\n", kind, data)
	}
	golden.Check(t, "../../internal/web/openapi.yaml", doc.String())
}

func writeParameters(doc *strings.Builder, path string, c cli.Command) {
	var lines []string
	for part := range strings.SplitSeq(path, "/") {
		if strings.HasPrefix(part, "{") {
			lines = append(lines, fmt.Sprintf("{name: %s, in: path, required: true, schema: {type: string}}", strings.Trim(part, "{}")))
		}
	}
	for _, f := range c.Flags {
		if f.Name == "json" || f.Name == "message" || strings.Contains(f.Usage, "`FILE`") || c.Name == "report" {
			continue
		}
		kind := "{type: string}"
		switch f.Value.(type) {
		case bool:
			kind = "{type: boolean}"
		case int, int64:
			kind = "{type: integer}"
		case []string:
			kind = "{type: array, items: {type: string}}"
		}
		lines = append(lines, fmt.Sprintf("{name: %s, in: query, description: %q, schema: %s}", f.Name, strings.ReplaceAll(f.Usage, "`", ""), kind))
	}
	if len(lines) > 0 {
		fmt.Fprintf(doc, "      parameters:\n        - %s\n", strings.Join(lines, "\n        - "))
	}
}

// commandNamed finds a command by its words.
func commandNamed(root cli.Command, words []string) (cli.Command, bool) {
	for _, word := range words {
		i := slices.IndexFunc(root.Sub, func(c cli.Command) bool { return c.Name == word })
		if i < 0 {
			return cli.Command{}, false
		}
		root = root.Sub[i]
	}
	return root, true
}

// schemaOf is the shape of an example.
func schemaOf(v any) map[string]any {
	switch v := v.(type) {
	case map[string]any:
		properties := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			properties[name] = schemaOf(v[name])
		}
		return map[string]any{"type": "object", "properties": properties}
	case []any:
		items := map[string]any{}
		if len(v) > 0 {
			items = schemaOf(v[0])
		}
		return map[string]any{"type": "array", "items": items}
	case string:
		return map[string]any{"type": "string"}
	case float64:
		return map[string]any{"type": "number"}
	case bool:
		return map[string]any{"type": "boolean"}
	}
	return map[string]any{} // null: docs/json.md says what else it can be
}

const apiIntro = `# Written by go test ./cmd/ralph -run TestTheAPIIsDocumented -update
openapi: 3.1.0
info:
  title: ralph
  version: "1"
  description: The API of ralph serve. What it answers is what commands print with --json; docs/json.md has examples.
servers:
  - url: /api/v1
security:
  - token: []
components:
  securitySchemes:
    token: {type: http, scheme: bearer, description: The token that the server was started with. A browser that was let in can read without it.}
  responses:
    Error:
      description: 400 a bad request (64), 401 no token, 403 not allowed, 404 not found (3), 409 refused (1), 429 too many wrong tokens, 500 a bug (70), 503 unavailable (5); in parentheses the exit status of the command.
      content:
        application/json:
          schema: {type: object, required: [error, status], properties: {error: {type: string}, hint: {type: string}, status: {type: integer, description: the exit status of the command}}}
paths:
  /commands:
    post:
      summary: carry out a command
      description: The lines of the answer are parts of what it prints, as they come, and at last its exit status. A run continues if the reader goes away. What is no UTF-8 is in out64 and err64.
      requestBody:
        required: true
        content:
          application/json:
            schema: {type: object, required: [args], properties: {args: {type: array, items: {type: string}, examples: [[task, list]]}, stdin: {type: string}, stdin64: {type: string, contentEncoding: base64}, width: {type: integer}, err_width: {type: integer}}}
      responses:
        "200":
          description: one object a line
          content:
            application/x-ndjson:
              schema: {type: object, properties: {out: {type: string}, err: {type: string}, out64: {type: string, contentEncoding: base64}, err64: {type: string, contentEncoding: base64}, exit: {type: integer}}}
        default: {$ref: "#/components/responses/Error"}
  /runs/{id}/events:
    get:
      summary: the events of a run, which docs/events.md describes
      description: With Accept text/event-stream, they are followed until the run ends; IDs are offsets, so that Last-Event-ID resumes.
      parameters:
        - {name: id, in: path, required: true, schema: {type: string}}
        - {name: after, in: query, description: the offset in bytes from which to read, schema: {type: integer}}
      responses:
        "200":
          description: one event a line
          content:
            application/x-ndjson:
              schema: {type: object}
            text/event-stream:
              schema: {type: string}
        default: {$ref: "#/components/responses/Error"}
`
