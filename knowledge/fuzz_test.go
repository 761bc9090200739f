//go:build unix

package knowledge_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"ralph/knowledge"
)

// FuzzFrontMatter states that no file hurts: it is refused, or it is an entry
// within all bounds that is read the same after it was written.
func FuzzFrontMatter(f *testing.F) {
	for _, seed := range []string{
		whole, file("a", "b, c", "d"), "---\n---\n", "---\ntitle: &a x\ntags: [*a, *a]\n---\n", "---\n? [a]\n: b\n---\n", "---\ntitle: |\n  a\n  b\n---\nx",
		"---\n\ttitle: a\n---\n", "---\ntitle: !!int 3\n---\n", "---\ntitle: \"\\x00\"\n---\n", "---\n- a\n---\n", "---\n{title: a, tags: [b]}\n---\n[[c]]",
		"---\ntitle: a\n...\n---\n", "---\n%YAML 1.2\n---\n", "---\ntitle: a\ncreated_at: 9999-12-31T23:59:60+99:99\n---\n", "---\n<<: {title: a}\n---\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 64<<10 || !utf8.ValidString(text) {
			t.Skip("such a file is refused before")
		}
		e, err := knowledge.Parse(text)
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("an error of several lines: %q", err)
			}
			return
		}
		if e.Title == "" || len(e.Title) > 120 || strings.ContainsAny(e.Title, "\r\n\x00\x1b") || len(e.Tags) > 20 || len(e.Body) > 8000 || len(strings.Fields(e.Body)) > knowledge.MaxWords {
			t.Errorf("out of bounds: %+v", e)
		}
		again, err := knowledge.Parse(knowledge.Format(e))
		if err != nil {
			t.Fatalf("what was written is not read: %v\n%s", err, knowledge.Format(e))
		}
		e.Words, again.Words = 0, 0
		if diff := cmp.Diff(knowledge.Format(e), knowledge.Format(again)); diff != "" {
			t.Errorf("not the same after it was written (-before +after):\n%s", diff)
		}
	})
}

// FuzzSlugs states that every title gives the name of a file and nothing else.
func FuzzSlugs(f *testing.F) {
	for _, seed := range []string{"", "a", "../a", "CON", "日本語", strings.Repeat("a-", 100), "com1.md", "\x00", "İ", "K"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, title string) {
		name := knowledge.Slug(title)
		if !isSlug(name+".md") || strings.Contains(name, "--") || strings.HasSuffix(name, "-") || len(name) > 60 {
			t.Errorf("%q gives %q", title, name)
		}
		switch name {
		case "con", "prn", "aux", "nul":
			t.Errorf("%q gives a device", title)
		}
		if knowledge.Slug(title) != name || knowledge.Slug(strings.ToUpper(name)) != name {
			t.Errorf("%q gives another name the second time", title)
		}
	})
}
