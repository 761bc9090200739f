package sandbox

import (
	"runtime"
	"testing"

	"ralph/internal/testing/check"
)

func TestATemporaryFolderWithTheProjectShowsOnlyWhatIsNeeded(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only there is a sandbox")
	}
	type want struct{ Folders, Inside []string }
	for name, tt := range map[string]struct {
		project        string
		read, programs []string
		want
	}{
		"elsewhere":                    {"/home/me/proj", []string{"/tmp/x"}, []string{"/tmp/bin"}, want{}},
		"in it":                        {"/tmp/proj", []string{"/etc", "/tmp/x/y", "/tmp/proj/z"}, []string{"/usr/bin", "/tmp/a/lib/bin", "/tmp/ralph"}, want{[]string{"/tmp"}, []string{"/tmp/x/y", "/tmp/a", "/tmp/ralph"}}},
		"in another":                   {"/var/tmp/proj", []string{"/tmp/x", "/var/tmp/x"}, nil, want{[]string{"/var/tmp"}, []string{"/var/tmp/x"}}},
		"beside programs":              {"/tmp/a/proj", nil, []string{"/tmp/a/b/bin", "/tmp/a/run", "/tmp/a", "/tmp"}, want{[]string{"/tmp"}, []string{"/tmp/a/b", "/tmp/a/run"}}},
		"in a home in it":              {"/tmp/home/proj", []string{"/tmp/home"}, nil, want{[]string{"/tmp"}, []string{"/tmp/home"}}},
		"the folder is somebody's own": {"/tmp/proj", []string{"/tmp"}, []string{"/tmp/bin"}, want{}},
	} {
		var got want
		got.Folders, got.Inside = emptied(tt.project, tt.read, tt.programs)
		check.Equal(t, name, tt.want, got)
	}
}
