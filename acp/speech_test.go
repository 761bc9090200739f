package acp

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"ralph/internal/testing/check"
	"ralph/sigils"
)

// flooded is what a step of that kind says.
func flooded(s step) string {
	var b strings.Builder
	for i := range s.N {
		b.WriteString(strings.Repeat(s.Text, s.Chunk) + fmt.Sprint(i, "\n"))
	}
	return b.String()
}

// textOf is the text of a turn, or why there is none.
func textOf(turn Turn) string {
	text, err := turn.Text()
	if err != nil {
		return err.Error()
	}
	return text
}

// TestLongTextIsReadBackAsItWasSaid: the text crosses the border to the file in the middle of
// a sigil, which is cut into chunks as well.
func TestLongTextIsReadBackAsItWasSaid(t *testing.T) {
	t.Parallel()
	const sigil = "<task-done>t-0123abcd</task-done>\n<journal>\nboth sides\n</journal>\n"
	many := step{Do: "flood", N: 10, Text: "é ", Chunk: 30_000}
	lead := maxHeld - len(flooded(many)) - len("one\xff")*3 - 10 // and no more fits into memory than the beginning of the sigil
	steps := []step{
		{Do: "say", Text: "one"},
		{Do: "tool", Text: "a"},
		many,
		{Do: "tool", Text: "b"},
		{Do: "flood", N: 1, Text: "x", Chunk: lead},
		{Do: "say", Text: sigil, Chunk: 3},
		{Do: "tool", Text: "c"},
		many,
		{Do: "say", Text: "<next-model>opus</next-model>\n", Chunk: 1},
	}
	want := []string{"one", flooded(many), flooded(steps[4]) + sigil, flooded(many) + "<next-model>opus</next-model>\n"}
	b := newBench(t, say(steps...))
	b.cfg.Transcript, b.cfg.Folder = nil, t.TempDir()
	s := b.start(t)
	turn, err := s.Prompt(t.Context(), "x")
	check.OK(t, err)
	var got []string
	check.OK(t, turn.Each(func(piece string, begins bool) {
		if begins {
			got = append(got, "")
		}
		got[len(got)-1] += piece
	}))
	check.That(t, turn.Long != nil && len(got) == len(want), "got %d segments, want %d", len(got), len(want))
	for i := range want {
		check.That(t, got[i] == want[i], "segment %d: got %d bytes that differ from the %d that were said", i, len(got[i]), len(want[i]))
	}
	whole := strings.Join(want, "\n")
	check.That(t, textOf(turn) == whole, "got %d bytes, which are not the %d that were said", len(textOf(turn)), len(whole))
	set, err := turn.Scan(sigils.NewScanner("t-0123abcd"))
	check.OK(t, err)
	check.Equal(t, "sigils", sigils.Set{Done: true, Journal: "both sides", NextModel: "opus"}, set)
	check.That(t, !turn.Empty(), "the turn is empty")
	left, err := os.ReadDir(b.cfg.Folder)
	check.That(t, err == nil && len(left) == 0, "got %v, %v: a kill would leave what is not redacted", left, err)
	_, err = s.Prompt(t.Context(), "again")
	check.OK(t, err)
	wantKind(t, turn.Each(func(string, bool) {}), Unkept) // the file of the turn before is gone
}

// TestTextThatCannotBeStoredEndsTheTurn, and the error says why.
func TestTextThatCannotBeStoredEndsTheTurn(t *testing.T) {
	t.Parallel()
	b := newBench(t, say(step{Do: "flood", Text: "x", Chunk: 1 << 10}))
	b.cfg.Transcript, b.cfg.Folder, b.cfg.Grace = nil, b.cfg.Dir+"/missing", 50*time.Millisecond
	s := b.start(t)
	turn, err := s.Prompt(t.Context(), "x")
	e := wantKind(t, err, Unkept)
	check.Contains(t, "error", "no such file or directory", e.Error())
	wantKind(t, turn.Each(func(string, bool) {}), Unkept)
	_, err = turn.Text()
	wantKind(t, err, Unkept)
	check.That(t, !turn.Empty(), "the turn is empty")
}

// TestTextThatIsTooMuchForMemoryIsAnError, while it is read in pieces all the same.
func TestTextThatIsTooMuchForMemoryIsAnError(t *testing.T) {
	t.Parallel()
	speech := &Speech{folder: t.TempDir()}
	defer speech.close()
	for range maxWhole>>20 + 1 {
		check.OK(t, speech.write(strings.Repeat("x", 1<<20)))
	}
	var turn Turn
	turn.Segments, turn.Long = speech.segments()
	_, err := turn.Text()
	check.Contains(t, "error", "it is above 64 MiB", wantKind(t, err, Unkept).Error())
	size := 0
	check.OK(t, turn.Each(func(piece string, _ bool) { size += len(piece) }))
	check.Equal(t, "size", maxWhole+1<<20, size)
}
