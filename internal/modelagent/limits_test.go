package modelagent

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	acp "github.com/coder/acp-go-sdk"

	"ralph/internal/testing/check"
)

func TestAnAnswerHasAtMostSoManyCalls(t *testing.T) {
	t.Parallel()
	m := perform(t, inOrder(calls(slices.Repeat([]string{"read", `{"path":"a.txt"}`}, 2000)...), says("Done.")))
	m.client().ask(t, "Go.")
	got := results(m.asked()[1])
	check.Equal(t, "results", 101, len(got))
	check.That(t, !slices.ContainsFunc(got[:100], func(s string) bool { return strings.HasPrefix(s, "not run") }), "the first 100 are not run: %v", got[99])
	check.Equal(t, "the last", "not run: at most 100 calls in one answer; this call and those after it have to be made again", got[100])
}

func TestAChangeThatFailsIsNotSaidToBeDone(t *testing.T) {
	t.Parallel()
	b := box(t, nil)
	_, do, err := b.write(writeArgs{Path: "a.txt", Content: "x"})
	check.OK(t, err)
	check.OK(t, os.RemoveAll(b.dir))
	text, err := do(t.Context())
	check.Equal(t, "the text", "", text)
	check.Err(t, "write", "a.txt: no such file or directory", err)

	for _, refused := range []error{
		&fs.PathError{Op: "openat", Path: ".ralph/x.tmp", Err: syscall.EROFS},
		&os.LinkError{Op: "renameat", Old: ".ralph-x.tmp", New: ".ralph.toml", Err: syscall.EBUSY},
		&fs.PathError{Op: "openat", Path: ".git/x.tmp", Err: syscall.EACCES},
	} {
		check.Err(t, "protected", ".git/config is protected; it cannot be changed ("+errors.Unwrap(refused).Error()+")", unchanged(".git/config", refused))
	}
	full := &fs.PathError{Op: "write", Path: "x.tmp", Err: syscall.ENOSPC}
	check.Err(t, "a full disk", "big.txt: "+syscall.ENOSPC.Error(), unchanged("big.txt", full))
}

// full is a conversation that has to be summarised, if the model that does it answers so.
func full(t *testing.T, summary said) (*model, *client) {
	t.Helper()
	m := perform(t, nil)
	m.window = 8000
	worked := 0
	m.answer = func(_ int, r Request) said {
		if r.System == summariser {
			return summary
		}
		if worked++; worked%4 == 0 {
			return says("Enough.")
		}
		return calls("write", `{"path":"a.txt","content":"`+strings.Repeat("0123456789", 600)+`"}`)
	}
	return m, m.client()
}

func TestAFailedSummaryDoesNotEndTheTask(t *testing.T) {
	t.Parallel()
	m, c := full(t, said{Failure: &Failure{Bad, 400, 0, "no summaries here"}})
	for range 3 {
		c.ask(t, "Go on.")
	}
	var by []string
	for _, r := range m.asked() {
		if r.System == summariser {
			by = append(by, r.Model)
		}
	}
	check.That(t, len(by) >= 2, "nothing was summarised: %v", by)
	check.Equal(t, "asked for a summary", []string{"haiku", "sonnet"}, by[:2])
	asked := m.asked()
	check.Contains(t, "in place of it", "(no summary could be made)", textOf(asked[len(asked)-1].Messages[0]))

	for _, kind := range []FailureKind{Limited, NoKey} {
		_, c := full(t, said{Failure: &Failure{kind, 400, time.Hour, "not now"}})
		var err error
		for range 3 {
			if _, err = c.Prompt(t.Context(), "Go on."); err != nil {
				break
			}
		}
		check.Err(t, "prompt", "not now", err)
	}
}

func TestWhatTheModelHasNotSeenIsShortenedIfNothingElseHelps(t *testing.T) {
	t.Parallel()
	m := perform(t, nil)
	m.window = 32_000
	m.answer = func(_ int, r Request) said {
		switch {
		case tokens(r.Messages)+tokens(r.Tools)+tokens(r.System) > 4000:
			return said{Failure: &Failure{TooLong, 400, 0, "the maximum is 4000 tokens"}}
		case len(r.Messages) == 1:
			return calls("bash", bash("seq 1 4000"))
		}
		return says("Done.")
	}
	m.client().ask(t, "Count.")
	asked := m.asked()
	got := results(asked[len(asked)-1])[0]
	check.That(t, strings.HasPrefix(got, "1\n2\n") && strings.HasSuffix(got, "\n4000\n"), "got %s", got)
	check.Contains(t, "the result", "left out", got)

	_, err := m.client().Prompt(t.Context(), strings.Repeat("much to do ", 2000))
	check.Err(t, "prompt", "does not fit into the model's window: the maximum is 4000 tokens (HTTP 400)", err)
	check.Err(t, "prompt", "--window", err)
}

func TestArgumentsThatAreTooDeepAreKeptAsText(t *testing.T) {
	t.Parallel()
	deep := func(n int) string { return `{"path":` + strings.Repeat("[", n) + strings.Repeat("]", n) + "}" }
	m := perform(t, inOrder(calls("read", deep(9000), "read", deep(99), "read", `{"path":"`+strings.Repeat("{[", 200)+`"}`), says("Done.")))
	c := m.client()
	c.ask(t, "Go.")
	var first []byte
	for _, b := range callsOf(m.asked()[1].Messages[1]) {
		first = append(first, b.Args[0])
	}
	check.Equal(t, "kept as text, and as they are", `"{{`, string(first))
	check.Contains(t, "the result", "the arguments are no JSON object", results(m.asked()[1])[0])
}

func TestASessionIsInAFolderThatIsThere(t *testing.T) {
	t.Parallel()
	m := perform(t, inOrder())
	conn, id, dir := m.bare(nil)
	file := filepath.Join(dir, "file")
	check.OK(t, os.WriteFile(file, nil, 0o600))
	for _, dir := range []string{"rel", file, filepath.Join(dir, "no")} {
		_, err := conn.NewSession(t.Context(), acp.NewSessionRequest{Cwd: dir, McpServers: []acp.McpServer{}})
		check.Err(t, "new in "+dir, "-32602", err)
		check.Err(t, "new in "+dir, "cwd has to be the absolute path of a folder that exists", err)
		_, err = conn.LoadSession(t.Context(), acp.LoadSessionRequest{SessionId: id, Cwd: dir, McpServers: []acp.McpServer{}})
		check.Err(t, "load in "+dir, "-32602", err)
	}
	ask1(t, conn, id, acp.TextBlock("The session is still there."))
}
