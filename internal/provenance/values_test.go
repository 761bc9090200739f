package provenance_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ralph/internal/provenance"
	"ralph/internal/testing/check"
)

func TestValuesAreTheirUsersAlone(t *testing.T) {
	t.Parallel()
	s := provenance.Values{Store: provenance.Store{Dir: filepath.Join(t.TempDir(), "credentials", "shop")}}
	check.OK(t, s.Sweep(func(string) bool { return false })) // there is none yet
	check.OK(t, s.Put("q-1", "hunter2 or so\n"))
	got, err := s.Get("q-1")
	check.That(t, err == nil && got == "hunter2 or so", "got %q, %v", got, err)
	for path, want := range map[string]os.FileMode{filepath.Dir(s.Dir): 0o700, s.Dir: 0o700, filepath.Join(s.Dir, "q-1"): 0o600} {
		info, err := os.Stat(path)
		check.OK(t, err)
		check.Equal(t, path, want, info.Mode().Perm())
	}
	for value, want := range map[string]string{"tiny": "at least 6 bytes", strings.Repeat("x", 1<<20): "at most 64 KiB", "zero\x00zero": "zero byte"} {
		err := s.Put("q-2", value)
		check.Err(t, want, want, err)
		check.That(t, !strings.Contains(err.Error(), value), "the error has the value in it: %v", err)
	}
	check.OK(t, s.Put("q-3", "something else"))
	check.OK(t, s.Sweep(func(request string) bool { return request == "q-3" }))
	_, err = s.Get("q-1")
	check.That(t, os.IsNotExist(err), "got %v, want that it is gone", err)
	_, err = s.Get("q-3")
	check.OK(t, err)
}
