package slot

import (
	"context"
	"slices"
	"strings"
	"testing"

	"ralph/internal/testing/check"
)

// TestARoomForgetsWhatGatesLeft: only what landed may leave something for the work that is judged next.
func TestARoomForgetsWhatGatesLeft(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	base := r.commit(".gitignore", "cache/\n", "a", "a")
	work := r.commit("a", "b")
	setups := 0
	p := open(t, r, func(o *Options) {
		o.Setup = func(context.Context, *Slot) error { setups++; return nil }
	})
	room := p.Room(1)
	at := repo{t, room.Dir()}
	left := func() string {
		return strings.Join(slices.DeleteFunc([]string{"cache/c", "untracked", ".git/planted"}, func(name string) bool { return !at.has(name) }), " ")
	}
	judge := func(commit string) {
		t.Helper()
		check.OK(t, room.Show(t.Context(), base, commit))
		at.sh(`mkdir -p cache; echo forged >cache/c; echo x >untracked; echo x >.git/planted; echo x >>a`)
	}
	judge(base)
	check.OK(t, room.Show(t.Context(), base, work))
	check.Equal(t, "what the base left", "cache/c .git/planted", left())
	judge(work)
	room = p.Room(1) // another process
	check.OK(t, room.Show(t.Context(), base, work))
	check.Equal(t, "what rejected work left", "", left())
	wantClean(t, at, work)
	judge(work)
	check.OK(t, room.Trust())
	room = p.Room(1)
	check.OK(t, room.Show(t.Context(), work, work))
	check.Equal(t, "what landed work left", "cache/c", left())
	check.Equal(t, "setups: at first, and each time after work that has not landed", 4, setups)
	check.OK(t, p.Remove(1))
	check.That(t, !at.has(""), "the room is still there")
}
