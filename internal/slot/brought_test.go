package slot

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"ralph/internal/testing/check"
)

// snapshots are the names of those that are whole, and of what is being made.
func snapshots(t *testing.T, p *Pool) (whole, torn []string) {
	t.Helper()
	entries, err := os.ReadDir(p.snapshots())
	check.OK(t, err)
	for _, e := range entries {
		switch {
		case strings.HasPrefix(e.Name(), ".new-"):
			torn = append(torn, e.Name())
		case e.IsDir():
			whole = append(whole, e.Name())
		}
	}
	return whole, torn
}

func laying(o *Options) {
	o.Copy, o.Assumed, o.Layers = []string{"node_modules"}, true, func(string, string) bool { return true }
}

// TestSlotsShareASnapshot: many that begin at the same time, also in other processes, make one, and it goes with the last slot.
func TestSlotsShareASnapshot(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	first := r.commit(".gitignore", "node_modules\n", "a", "a")
	r.write("node_modules/dep/x", "1", "node_modules/.bin/y", "2")
	r.sh("mkdir node_modules/empty; ln -s ../dep node_modules/.bin/link")
	pools := []*Pool{open(t, r, laying), open(t, r, laying)} // two runs
	var all sync.WaitGroup
	for n := range 4 {
		all.Go(func() {
			_, err := pools[n%2].Take(t.Context(), n+1, "a-1", first, first)
			check.OK(t, err)
		})
	}
	all.Wait()
	p := pools[0]
	whole, torn := snapshots(t, p)
	check.Equal(t, "snapshots", 1, len(whole))
	check.Equal(t, "torn", 0, len(torn))
	copied := repo{t, p.tree(whole[0])}
	check.Equal(t, "copied", map[string]string{"dep/x": "1", ".bin/y": "2", ".bin/link": "../dep"}, copied.all())
	check.That(t, copied.has("empty"), "an empty folder is missing")
	s, err := p.At(1)
	check.OK(t, err)
	wantClean(t, repo{t, s.Top()}, first)
	check.Equal(t, "laid", []Laid{{Path: filepath.Join(s.Top(), "node_modules"), From: []string{p.tree(whole[0])}, Own: filepath.Join(s.over(), whole[0])}}, s.Laid(false))
	for n := range 4 {
		check.OK(t, p.Remove(n+1))
	}
	check.OK(t, p.Sweep())
	whole, _ = snapshots(t, p)
	check.Equal(t, "snapshots without slots", 0, len(whole))
}

// TestASnapshotStaysAsLongAsASlotUsesIt: what an agent at work began with, it keeps, whatever happens to the folder.
func TestASnapshotStaysAsLongAsASlotUsesIt(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	first := r.commit(".gitignore", "node_modules\n", "a", "a")
	r.write("node_modules/dep", "1")
	p := open(t, r, laying)
	at := func(s *Slot) string { return (repo{t, s.Laid(false)[0].From[0]}).text("dep") }
	one, _ := take(t, p, 1, first)
	r.sh("echo mine > " + filepath.Join(one.Laid(false)[0].Own, "mine"))
	r.write("node_modules/dep", "22")
	two, _ := take(t, p, 2, first)
	second := r.commit("a", "b")
	check.OK(t, one.Show(t.Context(), first, second))
	check.Equal(t, "what the slots have", []string{"1", "22"}, []string{at(one), at(two)})
	check.That(t, (repo{t, one.Laid(false)[0].Own}).has("mine"), "what the agent wrote is gone")
	r.sh("rm -r node_modules") // in the middle of an install
	three, _ := take(t, p, 3, first)
	check.Equal(t, "what a slot has while the folder is gone", "22", at(three))
	r.write("node_modules/dep", "333")
	one, _ = take(t, p, 1, first)
	check.Equal(t, "what the next attempt has", "333", at(one))
	check.That(t, !(repo{t, one.Laid(false)[0].Own}).has("mine"), "what was written over another snapshot is there")
	whole, _ := snapshots(t, p)
	check.Equal(t, "snapshots in use", 2, len(whole))
}

// TestATornSnapshotIsSwept: a ralph that is killed while it copies leaves nothing that is taken for a snapshot.
func TestATornSnapshotIsSwept(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	first := r.commit(".gitignore", "node_modules\n", "a", "a")
	r.write("node_modules/dep", "1")
	p := open(t, r, laying)
	half := filepath.Join(p.snapshots(), ".new-1", "tree")
	check.OK(t, os.MkdirAll(half, 0o700))
	check.OK(t, os.WriteFile(filepath.Join(half, "dep"), nil, 0o400))
	check.OK(t, os.Chmod(half, 0o500))
	take(t, p, 1, first)
	whole, torn := snapshots(t, p)
	check.Equal(t, "snapshots", []int{1, 0}, []int{len(whole), len(torn)})
	check.Equal(t, "copied", "1", (repo{t, p.tree(whole[0])}).text("dep"))
}

// TestWhatSetupWritesInARoomStays when what gates wrote goes, and goes with the snapshot.
func TestWhatSetupWritesInARoomStays(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	first := r.commit(".gitignore", "node_modules\n", "a", "a")
	second := r.commit("a", "b")
	r.write("node_modules/dep", "1")
	var own []string
	p := open(t, r, laying)
	room := p.Room(1)
	write := func(dir, name string) {
		check.OK(t, os.MkdirAll(filepath.Join(dir, "x", "upper"), 0o700))
		check.OK(t, os.WriteFile(filepath.Join(dir, "x", "upper", name), nil, 0o600))
	}
	room.p.o.Setup = func(_ context.Context, s *Slot) error {
		dir := s.Laid(true)[0].Own
		own = append(own, dir)
		write(dir, "generated")
		return nil
	}
	check.OK(t, room.Show(t.Context(), first, first))
	write(room.Laid(false)[0].Own, "by a gate")
	check.OK(t, room.Show(t.Context(), second, second))
	laid := room.Laid(false)[0]
	check.Equal(t, "runs of setup", 1, len(own))
	check.Equal(t, "folders", 2, len(laid.From))
	check.That(t, (repo{t, laid.From[0]}).has("generated"), "what setup wrote is gone")
	entries, err := os.ReadDir(laid.Own)
	check.That(t, err == nil && len(entries) == 0, "what a gate wrote is there: %v %v", entries, err)
	r.write("node_modules/dep", "22")
	check.OK(t, room.Show(t.Context(), second, second))
	check.Equal(t, "runs of setup", 2, len(own))
	check.That(t, !slices.Contains(own[1:], own[0]), "setup wrote over what belongs to another snapshot")
}

// TestALargeFolderIsSharedLive where slots find folders under layers. Elsewhere it is left out with a line, although a person named it.
func TestALargeFolderIsSharedLive(t *testing.T) {
	t.Parallel()
	for _, layered := range []bool{true, false} {
		r := newRepo(t)
		first := r.commit(".gitignore", "node_modules\ndata\n", "a", "a")
		r.write("node_modules/dep", "1", "data/x", "1", "data/.env", "KEY=1")
		check.OK(t, os.Truncate(filepath.Join(r.dir, "data/x"), maxSnapshot+1)) // it has no blocks
		var lines, learned []string
		p := open(t, r, func(o *Options) {
			o.Copy, o.Layers = []string{"node_modules", "data"}, func(string, string) bool { return layered }
			o.Dotenv = func(_ context.Context, text string) { learned = append(learned, text) }
		})
		p.OnLeftOut(func(line string) { lines = append(lines, line) })
		s, at := take(t, p, 1, first)
		if layered {
			check.Equal(t, "lines", 0, len(lines))
			check.Equal(t, "laid", Laid{Path: filepath.Join(s.Top(), "data"), From: []string{filepath.Join(r.dir, "data")}}, s.Laid(false)[0])
			check.Equal(t, "copied", "", at.sh("ls -A data"))
			check.Equal(t, "secrets", []string{"KEY=1"}, learned)
			continue
		}
		check.Equal(t, "lines", []string{"slots do not have data: it has more than 4.0 GiB; if gates need it, make it in each slot with [parallel] setup"}, lines)
		check.That(t, !at.has("data") && at.has("node_modules/dep"), "the slot has %v", at.working())
	}
}
