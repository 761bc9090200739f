package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"ralph/internal/testing/check"
	"ralph/internal/testing/fakeagent"
	"ralph/report"
)

// leaf is a task of a graph that the built-in agent runs.
type leaf struct {
	parent, after string // of the plan, by number; after may name several
	script        string // empty for a group
	gate          string
	want          string
}

// TestAGraphOfThirtyTasksEndsWithTheRightStatuses has groups in groups, a diamond,
// failures with what waits behind them, work that a gate refuses at first or for
// ever, and scripts that ask to be tried again.
func TestAGraphOfThirtyTasksEndsWithTheRightStatuses(t *testing.T) {
	t.Parallel()
	again := func(n int) string { return fmt.Sprintf("[ -e again.%d ] || { touch again.%d; exit 75; }", n, n) }
	graph := map[int]leaf{
		// a chain
		1: {script: "echo 1 >> order", want: "done"},
		2: {after: "1", script: "echo 2 >> order", want: "done"},
		3: {after: "2", script: "echo 3 >> order", want: "done"},
		// a diamond
		4: {after: "3", script: "true", want: "done"},
		5: {after: "4", script: "true", want: "done"},
		6: {after: "4", script: again(6), want: "done"},
		7: {after: "5 6", script: "true", want: "done"},
		// a group with a group, all of it done
		8:  {want: "done"},
		9:  {parent: "8", script: "true", want: "done"},
		10: {parent: "8", want: "done"},
		11: {parent: "10", script: "true", want: "done"},
		12: {parent: "10", script: again(12), want: "done"},
		13: {after: "8", script: "test -e again.12", want: "done"},
		// a group in which one fails: the rest of it runs, but not what waits for it
		14: {want: "failed"},
		15: {parent: "14", script: "echo no compiler; exit 3", want: "failed"},
		16: {parent: "14", script: "true", want: "done"},
		17: {parent: "14", want: "done"},
		18: {parent: "17", script: "true", want: "done"},
		19: {after: "14", script: "touch must-not-run", want: "pending"},
		20: {after: "19", script: "touch must-not-run", want: "pending"},
		// work that is refused at first, and work that always is
		21: {script: "echo x >> work.21", gate: "test $(wc -l < work.21) -ge 2", want: "done"},
		22: {script: "true", gate: "echo never; false", want: "failed"},
		23: {after: "22", script: "touch must-not-run", want: "pending"},
		24: {after: "21", script: "test $(wc -l < work.21) -eq 2", want: "done"},
		// nothing to run, and a script that never comes to a verdict
		25: {script: "-", want: "failed"},
		26: {script: "exit 75", want: "failed"},
		// a group that waits makes its leaves wait
		27: {after: "7", want: "done"},
		28: {parent: "27", script: "test -e again.6", want: "done"},
		29: {parent: "27", after: "28", script: "true", want: "done"},
		30: {after: "27 24", script: "cat order", want: "done"},
	}
	p := newPlace(t, fakeagent.Script{}, "max_attempts = 2", "max_retries = 1", "breaker = 100")
	p.write("plan.jsonl", planOf(t, graph))
	p.want(0, "task", "import", "plan.jsonl")
	p.want(2, "run", "--agent", "shell", "--json").inStdout(`"outcome":"blocked"`)
	var tasks []report.TaskView
	list := p.want(0, "task", "list", "--all", "--json")
	check.OK(t, json.Unmarshal([]byte(list.stdout), &tasks))
	got, want := map[string]string{}, map[string]string{}
	for _, task := range tasks {
		got[task.ID] = string(task.Status)
	}
	for n, l := range graph {
		want[number(n)] = l.want
	}
	check.Equal(t, "statuses", want, got)
	p.want(0, "doctor")
	p.want(0, "task", "show", number(15)).inStdout("no compiler")
}

// planOf writes a graph as lines to import.
func planOf(t *testing.T, graph map[int]leaf) string {
	t.Helper()
	var b strings.Builder
	for n := 1; n <= len(graph); n++ {
		l := graph[n]
		line := map[string]any{"ref": number(n), "title": fmt.Sprint("task ", n)}
		if l.parent != "" {
			line["parent"] = refs(l.parent)[0]
		}
		if l.after != "" {
			line["after"] = refs(l.after)
		}
		if l.gate != "" {
			line["gates"] = []string{l.gate}
		}
		if l.script != "" && l.script != "-" {
			line["description"] = "```sh\n" + l.script + "\n```\n"
		}
		raw, err := json.Marshal(line)
		check.OK(t, err)
		fmt.Fprintf(&b, "%s\n", raw)
	}
	return b.String()
}

func refs(numbers string) []string {
	var list []string
	for word := range strings.FieldsSeq(numbers) {
		list = append(list, fmt.Sprintf("t-%08s", word))
	}
	return list
}

// TestARunSendsTraces to a collector, with the headers that it wants.
func TestARunSendsTraces(t *testing.T) {
	t.Parallel()
	type spans struct {
		ResourceSpans []struct {
			Resource   json.RawMessage
			ScopeSpans []struct {
				Spans []struct{ Name, SpanID, ParentSpanID string }
			}
		}
	}
	var mu sync.Mutex
	names, parents := map[string]string{}, map[string]string{}
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var s spans
		if err := json.NewDecoder(r.Body).Decode(&s); err != nil || r.Header.Get("Api-Key") != "a b" || r.URL.Path != "/v1/traces" {
			t.Errorf("%v, %v, %s", err, r.Header, r.URL.Path)
		}
		if got := string(s.ResourceSpans[0].Resource); !strings.Contains(got, `"mine"`) || !strings.Contains(got, `"team"`) {
			t.Errorf("the resource is %s", got)
		}
		mu.Lock()
		defer mu.Unlock()
		for _, span := range s.ResourceSpans[0].ScopeSpans[0].Spans {
			names[span.SpanID], parents[span.SpanID] = span.Name, span.ParentSpanID
		}
	}))
	defer collector.Close()
	p := newPlace(t, say(fakeagent.Step{Do: "tool", Text: "look", Kind: "read", Status: "completed"}, saysDone()), "[verify]\ncommands = ['true']\n")
	p.env = append(p.env, "OTEL_EXPORTER_OTLP_ENDPOINT="+collector.URL, "OTEL_EXPORTER_OTLP_HEADERS=api-key=a%20b",
		"OTEL_SERVICE_NAME=mine", "OTEL_RESOURCE_ATTRIBUTES=service.name=theirs,team=a")
	p.plan("one")
	p.want(0, "run")
	mu.Lock()
	defer mu.Unlock()
	var got []string
	for id, name := range names {
		got = append(got, fmt.Sprintf("%s in %q", name, names[parents[id]]))
	}
	slices.Sort(got)
	want := []string{`attempt in "ralph run"`, `ralph run in ""`, `tool read in "attempt"`, `verify gate in "attempt"`, `verify gate in "attempt"`}
	check.Equal(t, "result", want, got)
}

// TestTheDemoNeedsNothing runs it in an empty environment, in a network namespace
// without a network, with nothing on PATH but the tools that its scripts call:
// no home, no git, no agent.
func TestTheDemoNeedsNothing(t *testing.T) {
	t.Parallel()
	bin, tmp := t.TempDir(), t.TempDir()
	for _, tool := range []string{"ralph", "sh", "mkdir", "cat", "chmod", "ls", "touch", "tar"} {
		path, err := exec.LookPath(tool)
		if err == nil {
			err = os.Symlink(path, filepath.Join(bin, tool))
		}
		check.OK(t, err)
	}
	var stdout, stderr bytes.Buffer
	demo := func(isolate *syscall.SysProcAttr) error {
		stdout.Reset()
		stderr.Reset()
		cmd := exec.Command(filepath.Join(bin, "ralph"), "demo")
		cmd.Env, cmd.Dir = []string{"PATH=" + bin, "TMPDIR=" + tmp, "GORACE=atexit_sleep_ms=0"}, t.TempDir()
		cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = &stdout, &stderr, isolate
		return cmd.Run()
	}
	err := demo(&syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	})
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Logf("with the network, because there are no namespaces here: %v", err)
		err = demo(nil)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	if got := strings.Count(stdout.String(), "  done  "); got != 9 {
		t.Errorf("got %d tasks done, want 9:\n%s", got, stdout.String())
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
