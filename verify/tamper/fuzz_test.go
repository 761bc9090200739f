package tamper

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ralph/internal/git"
	_ "ralph/internal/testing/seeded"
)

// testNames are files of each kind that we read.
var testNames = []string{"a_test.go", "a.test.ts", "test_a.py", "conftest.py", "tests/a.rs", "src/a.rs"}

func constant(text string) Read { return func(string) ([]byte, error) { return []byte(text), nil } }

// FuzzTampering: no text makes it panic, what is the same is no finding, what is
// added is none if nothing was there, and masking changes no byte's place.
func FuzzTampering(f *testing.F) {
	for _, seed := range []string{goTwo, jsTwo, pyTwo, rustTwo, "`${`${", "r#\"", "'", "'''", "/[/", "it.each`", "it.each(", "#[", "@\n@", "class A(\n def test", "\xff\x00"} {
		for i := range testNames {
			f.Add(seed, goOne+seed, uint8(i))
		}
	}
	f.Fuzz(func(t *testing.T, before, after string, n uint8) {
		name := testNames[int(n)%len(testNames)]
		lang, named := classify(name)
		code := mask(lang, before)
		if len(code) != len(before) {
			t.Fatalf("masked %d bytes as %d", len(before), len(code))
		}
		for i := range len(code) {
			if code[i] != before[i] && code[i] != ' ' {
				t.Fatalf("byte %d was %q and is %q", i, before[i], code[i])
			}
		}
		modified := []git.Change{{Path: name, Kind: git.Modified}}
		if got := Find(modified, constant(before), constant(before), nil); got != nil {
			t.Errorf("the same text: got %+v", got)
		}
		s := suite{file: name, lang: lang, named: named}
		twice := []pair{{before: s, after: s}}
		twice[0].before.parse(before)
		twice[0].after.parse(before)
		if got := compare(twice); got != nil {
			t.Errorf("the same tests: got %+v", got)
		}
		if renamed := strings.Replace(name, "a", "b", 1); renamed != name {
			if l, _ := classify(renamed); l == lang {
				moved := []git.Change{{Path: renamed, Old: name, Kind: git.Renamed}}
				if got := Find(moved, constant(before), constant(before), nil); got != nil {
					t.Errorf("renamed to %s: got %+v", renamed, got)
				}
			}
		}
		for _, finding := range Find(modified, constant(before), constant(after), nil) {
			if finding.Path != name || strings.ContainsAny(finding.What, "\n\x00") {
				t.Errorf("got %+v", finding)
			}
		}
		for _, finding := range Find([]git.Change{{Path: name, Kind: git.Added}}, nil, constant(after), nil) {
			if !strings.HasPrefix(finding.What, "tests newly silenced") {
				t.Errorf("added: got %+v", finding)
			}
		}
	})
}

// TestTestsCanBeShuffledBetweenFiles: whatever order and file tests are moved to,
// with the skips that they had, nothing is reported, and one that is dropped is.
func TestTestsCanBeShuffledBetweenFiles(t *testing.T) {
	t.Parallel()
	kinds := map[string]func(name string, skipped bool) string{
		"a_test.go": func(name string, skipped bool) string {
			return "func Test" + name + "(t *testing.T) {\n" + when(skipped, "\tt.Skip()\n") + "}\n"
		},
		"a.test.ts": func(name string, skipped bool) string {
			return "it" + when(skipped, ".skip") + "('" + name + "', () => {})\n"
		},
		"test_a.py": func(name string, skipped bool) string {
			return when(skipped, "@pytest.mark.skip\n") + "def test_" + name + "():\n    pass\n"
		},
		"tests/a.rs": func(name string, skipped bool) string {
			return "#[test]\n" + when(skipped, "#[ignore]\n") + "fn " + name + "() {}\n"
		},
	}
	for first, write := range kinds {
		second := strings.Replace(first, "a.", "b.", 1)
		if first == "a_test.go" {
			second = "b_test.go"
		}
		rapid.Check(t, func(t *rapid.T) {
			names := rapid.SliceOfNDistinct(rapid.StringMatching(`[A-Z][a-z]{1,5}`), 2, 8, rapid.ID[string]).Draw(t, "names")
			before, after := files{first: "\n", second: "\n"}, files{first: "\n", second: "\n"}
			var texts []string
			for _, name := range names {
				text := write(name, rapid.Bool().Draw(t, "skipped"))
				texts = append(texts, text)
				before[rapid.SampledFrom([]string{first, second}).Draw(t, "from")] += text
			}
			for _, text := range rapid.Permutation(slices.Clone(texts)).Draw(t, "order") {
				after[rapid.SampledFrom([]string{first, second}).Draw(t, "to")] += text
			}
			if got := Find(changesOf(before, after), before.read, after.read, nil); got != nil {
				t.Fatalf("moved: got %+v\nbefore %q\nafter %q", got, before, after)
			}
			lost := rapid.SampledFrom(texts).Draw(t, "lost")
			for path := range after {
				after[path] = strings.Replace(after[path], lost, "\n", 1)
			}
			if got := Find(changesOf(before, after), before.read, after.read, nil); len(got) != 1 || !strings.HasPrefix(got[0].What, "1 test fewer") {
				t.Fatalf("lost %q: got %+v", lost, got)
			}
		})
	}
}

func when(yes bool, text string) string {
	if yes {
		return text
	}
	return ""
}

// TestWhatIsNoTestFileIsNotJudged, whatever is added to it.
func TestWhatIsNoTestFileIsNotJudged(t *testing.T) {
	t.Parallel()
	lines := []string{"t.Skip()", "it.only('x', f)", "@pytest.mark.skip", "#[ignore]", "func TestX(t *testing.T) { t.SkipNow() }", "xdescribe(", "'", "`", "}"}
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"main.go", "src/a.ts", "lib/a.py", "README.md", "test.txt", "testdata/x_test.go", "Makefile", "a_test.rb"}).Draw(t, "name")
		before := strings.Join(rapid.SliceOf(rapid.SampledFrom(lines)).Draw(t, "before"), "\n")
		after := before + "\n" + strings.Join(rapid.SliceOf(rapid.SampledFrom(lines)).Draw(t, "added"), "\n")
		kind := rapid.SampledFrom([]git.Kind{git.Added, git.Modified, git.Deleted, git.Mode}).Draw(t, "kind")
		if got := Find([]git.Change{{Path: name, Kind: kind}}, constant(before), constant(after), theProtected()); got != nil {
			t.Fatalf("got %+v", got)
		}
	})
}

// BenchmarkHostileTexts prints how much longer four times the text takes: about
// four where a reader goes through it once, and sixteen where it goes back to the
// beginning again and again, as each of these texts made an earlier one do.
func BenchmarkHostileTexts(b *testing.B) {
	for part, name := range map[string]string{
		"it(": "a.test.ts", "it('a',{": "a.test.ts", "describe.skip(": "a.test.ts", "it.each`": "a.test.ts", "/[": "a.test.ts", "`${": "a.test.ts",
		"it<": "a.test.ts", "#[test]": "src/a.rs", "#[": "src/a.rs", "r#": "src/a.rs", "#[cfg(any())] mod a {": "src/a.rs", "class A:\n": "test_a.py",
		"@a(\n": "test_a.py", "def test_a(": "test_a.py", "pytest.skip(": "test_a.py", "func TestA(": "a_test.go", "t.Skip(": "a_test.go",
	} {
		b.Run(strings.TrimSpace(part), func(b *testing.B) {
			find := func(size int) time.Duration {
				text, start := strings.Repeat(part, size/len(part)), time.Now()
				Find([]git.Change{{Path: name, Kind: git.Modified}}, constant(text), constant(text+" "), nil)
				return time.Since(start)
			}
			var small, large time.Duration
			for b.Loop() {
				small += find(1 << 15)
				large += find(1 << 17)
			}
			b.ReportMetric(float64(large)/float64(small), "x-for-4x")
		})
	}
}
