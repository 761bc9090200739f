package main

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
)

// bench is a project to run commands in, inside this process.
type bench struct {
	t   *testing.T
	dir string
	now time.Time
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t, dir: t.TempDir(), now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	b.run(0, "init")
	return b
}

// run runs one command, wants that exit status, and returns what it printed.
func (b *bench) run(want int, args ...string) (stdout string) {
	b.t.Helper()
	var out, errs bytes.Buffer
	got := run(append([]string{"ralph"}, args...), system{
		stdin: strings.NewReader(""), stdout: &out, stderr: &errs,
		getenv: func(string) string { return "" }, environ: func() []string { return nil }, getwd: func() (string, error) { return b.dir, nil },
		now: func() time.Time { return b.now },
	})
	if got != want {
		b.t.Fatalf("ralph %s: exit status %d, want %d\n%s", strings.Join(args, " "), got, want, errs.String())
	}
	return out.String()
}

// add adds a task and returns its ID.
func (b *bench) add(args ...string) string {
	b.t.Helper()
	return strings.TrimSpace(b.run(0, append([]string{"task", "add"}, args...)...))
}

// normal replaces what differs between runs: IDs, and the folder.
func (b *bench) normal(text string) string {
	seen := map[string]string{}
	text = strings.ReplaceAll(text, b.dir, "/home/you/project")
	return regexp.MustCompile(`\b([tfraw])-[0-9a-f]{8}\b`).ReplaceAllStringFunc(text, func(id string) string {
		if _, ok := seen[id]; !ok {
			seen[id] = fmt.Sprintf("%s-%08x", id[:1], len(seen)+1)
		}
		return seen[id]
	})
}
