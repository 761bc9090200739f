package modelagent

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

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
