package sigils_test

import (
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ralph/sigils"
)

// TestRejected holds the promise against quoted sigils: none of the texts in
// testdata/rejected may be accepted. In ids.txt the sigils are real but about
// other tasks, and must be reported as such; in nested.txt a note or lesson around
// them is real.
func TestRejected(t *testing.T) {
	t.Parallel()
	texts := rejected(t)
	if len(texts) < 200 {
		t.Errorf("got %d texts, want at least 200", len(texts))
	}
	seen := map[string]string{}
	for name, text := range texts {
		if other := seen[text]; other != "" {
			t.Errorf("%s is %s", name, other)
		}
		seen[text] = name
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			topic := path.Dir(name)
			got := sigils.Parse(text, ours)
			if foreign := topic == "ids"; foreign != (len(got.Foreign) > 0) {
				t.Errorf("got foreign IDs %v in %q", got.Foreign, text)
			}
			got.Foreign = nil
			if topic == "nested" {
				got.Journal, got.Knowledge = "", nil
			}
			if diff := cmp.Diff(sigils.Set{}, got); diff != "" {
				t.Errorf("accepted from %q: (-want +got)\n%s", text, diff)
			}
		})
	}
}

// rejected reads the corpus by topic and name. A text stands under a line
// "-- name --" and ends before the next; \t, \r and \u escapes are not
// interpreted, invisible characters are in the files as they are.
func rejected(tb testing.TB) map[string]string {
	tb.Helper()
	files, err := filepath.Glob("testdata/rejected/*.txt")
	if err != nil || len(files) == 0 {
		tb.Fatalf("no corpus: %v", err)
	}
	texts := map[string]string{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			tb.Fatal(err)
		}
		topic := strings.TrimSuffix(filepath.Base(file), ".txt")
		for part := range strings.SplitSeq("\n"+string(data), "\n-- ") {
			name, text, ok := strings.Cut(part, " --\n")
			if !ok {
				continue
			}
			if _, twice := texts[topic+"/"+name]; twice {
				tb.Fatalf("%s/%s is there twice", topic, name)
			}
			texts[topic+"/"+name] = text
		}
	}
	return texts
}
