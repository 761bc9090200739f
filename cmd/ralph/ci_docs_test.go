package main

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/pelletier/go-toml/v2"
	"mvdan.cc/sh/v3/syntax"

	"ralph/internal/cli"
	"ralph/internal/sandbox"
	"ralph/internal/testing/check"
)

// blocks are the fenced blocks of a page in that language.
func blocks(t *testing.T, path, language string) []string {
	t.Helper()
	var list []string
	for _, m := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```$").FindAllStringSubmatch(repoFile(t, path), -1) {
		list = append(list, m[1])
	}
	if len(list) == 0 {
		t.Fatalf("%s has no block of %s", path, language)
	}
	return list
}

// scripts are the shell scripts in a pipeline: what stands under these keys.
func scripts(v any) []string {
	var list []string
	switch v := v.(type) {
	case map[string]any:
		for key, inner := range v {
			text, isText := inner.(string)
			switch {
			case isText && key == "run":
				list = append(list, text)
			case strings.HasSuffix(key, "script"):
				for _, line := range inner.([]any) {
					list = append(list, line.(string))
				}
			default:
				list = append(list, scripts(inner)...)
			}
		}
	case []any:
		for _, inner := range v {
			list = append(list, scripts(inner)...)
		}
	}
	return list
}

// ralphs are the commands of a script that call ralph; what only a shell knows is x.
func ralphs(t *testing.T, script string) [][]string {
	t.Helper()
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(script), "")
	if err != nil {
		t.Fatalf("%v in\n%s", err, script)
	}
	var list [][]string
	syntax.Walk(file, func(n syntax.Node) bool {
		call, ok := n.(*syntax.CallExpr)
		if !ok || len(call.Args) == 0 || call.Args[0].Lit() != "ralph" {
			return true
		}
		var words []string
		for _, w := range call.Args {
			word := w.Lit()
			if word == "" {
				word = "x"
			}
			words = append(words, word)
		}
		list = append(list, words)
		return true
	})
	return list
}

// TestPipelinesNameOnlyWhatExists parses the action and every example of docs/ci.md.
func TestPipelinesNameOnlyWhatExists(t *testing.T) {
	t.Parallel()
	pipelines := append(blocks(t, "docs/ci.md", "yaml"), repoFile(t, "action.yml"))
	all := blocks(t, "docs/ci.md", "sh")
	for _, text := range pipelines {
		var v map[string]any
		if err := yaml.UnmarshalWithOptions([]byte(text), &v, yaml.Strict()); err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		found := scripts(v)
		check.That(t, len(found) > 0, "there is no script in\n%s", text)
		all = append(all, found...)
	}
	named := 0
	for _, script := range all {
		for _, words := range ralphs(t, script) {
			named++
			if _, _, err := cli.Permute(newApp(cli.System{}).Root, words); err != nil {
				t.Errorf("%s: %v", strings.Join(words, " "), err)
			}
		}
	}
	check.That(t, named >= 10, "found %d commands: the test is blind", named)
}

// TestInputsOfTheActionAreDocumented compares action.yml with the page, both ways.
func TestInputsOfTheActionAreDocumented(t *testing.T) {
	t.Parallel()
	data := repoFile(t, "action.yml")
	var action struct {
		Inputs map[string]any `yaml:"inputs"`
	}
	check.OK(t, yaml.Unmarshal([]byte(data), &action))
	rows := regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\|").FindAllStringSubmatch(between(t, "docs/ci.md", "| input | is |", "\n\n"), -1)
	for _, row := range rows {
		check.That(t, action.Inputs[row[1]] != nil, "the page describes %s, which is no input", row[1])
	}
	check.Equal(t, "inputs that the page describes", len(action.Inputs), len(rows))
	for name := range action.Inputs {
		check.That(t, strings.Contains(data, "inputs."+name), "input %s is not used", name)
	}
}

// TestContainersGrantWhatIsNeeded parses the recipes for containers, and compares them with what ralph says to grant.
func TestContainersGrantWhatIsNeeded(t *testing.T) {
	t.Parallel()
	const folder = "docs/examples/containers/"
	var dev struct {
		RunArgs      []string          `json:"runArgs"`
		Mounts       []string          `json:"mounts"`
		ContainerEnv map[string]string `json:"containerEnv"`
	}
	check.OK(t, json.Unmarshal([]byte(repoFile(t, folder+"devcontainer.json")), &dev))
	check.Contains(t, "what to grant", strings.Join(dev.RunArgs, " "), sandbox.Grants)
	check.That(t, len(dev.RunArgs) == 6 && len(dev.Mounts) == 1 && strings.HasSuffix(dev.Mounts[0], ",target="+dev.ContainerEnv["XDG_STATE_HOME"]), "it lacks something: %v", dev)

	var job map[string]any
	check.OK(t, yaml.UnmarshalWithOptions([]byte(repoFile(t, folder+"kubernetes.yaml")), &job, yaml.Strict()))
	at := func(v any, path ...any) any {
		for _, step := range path {
			switch step := step.(type) {
			case string:
				v = v.(map[string]any)[step]
			case int:
				v = v.([]any)[step]
			}
		}
		return v
	}
	pod := at(job, "spec", "template", "spec")
	container := at(pod, "containers", 0)
	check.Equal(t, "what the pod is granted", []any{false, "Unmasked", "Unconfined", "Unconfined", "/state", "/state"}, []any{
		at(pod, "hostUsers"), at(container, "securityContext", "procMount"), at(container, "securityContext", "seccompProfile", "type"),
		at(container, "securityContext", "appArmorProfile", "type"), at(container, "volumeMounts", 0, "mountPath"), at(container, "env", 0, "value"),
	})
	commands := ralphs(t, at(container, "args", 0).(string))
	check.Equal(t, "commands of the job", 2, len(commands))
	for _, words := range commands {
		_, _, err := cli.Permute(newApp(cli.System{}).Root, words)
		check.OK(t, err)
	}

	var runner struct {
		Runners []struct {
			Docker struct {
				Privileged bool
				Volumes    []string
			}
		}
	}
	check.OK(t, toml.Unmarshal([]byte(repoFile(t, folder+"gitlab-runner.toml")), &runner))
	check.That(t, len(runner.Runners) == 1 && runner.Runners[0].Docker.Privileged && slices.Contains(runner.Runners[0].Docker.Volumes, "/state"), "it lacks something: %v", runner)
}
