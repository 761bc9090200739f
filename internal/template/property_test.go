package template

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"ralph/dag"
	_ "ralph/internal/testing/seeded" // the same values each time
)

// laws: reading and filling in never panics; both are refused with an error, or make the same tasks each time; every task waits
// only for tasks before it, so that they can be imported, and no two are called the same.
func laws(t rapid.TB, text string, vars []Var) {
	tpl, err := Parse([]byte(text))
	if err != nil {
		if !errors.Is(err, dag.ErrRefused) {
			t.Fatalf("no refusal: %v\n%s", err, text)
		}
		return
	}
	specs, err := tpl.Expand("f", vars)
	again, errAgain := tpl.Expand("f", vars)
	if diff := cmp.Diff(specs, again); diff != "" || (err == nil) != (errAgain == nil) {
		t.Fatalf("the second time it is different: %v, %v\n%s\n%s", err, errAgain, diff, text)
	}
	if len(specs) > maxTasks {
		t.Fatalf("%d tasks", len(specs))
	}
	known := map[string]bool{"": true}
	for _, s := range specs {
		for _, ref := range append(s.After, s.Parent) {
			if !known[ref] {
				t.Fatalf("%s waits for %s, which comes later\n%s", s.Ref, ref, text)
			}
		}
		if known[s.Ref] || s.Title == "" || !strings.HasPrefix(s.Origin, "template:") {
			t.Fatalf("bad task %+v\n%s", s, text)
		}
		known[s.Ref] = true
	}
}

func FuzzParse(f *testing.F) {
	f.Add(whole, "phases", "a,b")
	f.Add(starter, "parts", `[{"name":"x"}]`)
	f.Fuzz(func(t *testing.T, text, name, value string) { laws(t, text, []Var{{name, value}, {"feature", "f"}}) })
}

// TestAnyTemplateKeepsTheLaws draws templates that are almost right.
func TestAnyTemplateKeepsTheLaws(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		word := rapid.SampledFrom([]string{"a", "b", "${a}", "${b}", "${l}", "${item}", "${item.x}", "x ${a} y", "$${z}", "${", "'", "[a, b]", "{name: n}", "~", "1", ""})
		name := rapid.SampledFrom([]string{"a", "b", "c", "d"})
		var b strings.Builder
		line := func(parts ...string) { b.WriteString(strings.Join(parts, "") + "\n") }
		if rapid.IntRange(0, 4).Draw(rt, "inputs") > 0 {
			line("inputs: {a: {default: ", rapid.SampledFrom([]string{"'1'", "'${b}'", "'${a}'", "[x]"}).Draw(rt, "a"), "}, b: {}, l: {list: true, default: [p, 'q ${b}']}}")
		}
		for _, section := range []string{"before", "steps", "after"} {
			n := rapid.IntRange(0, 4).Draw(rt, section)
			if n > 0 {
				line(section, ":")
			}
			for range n {
				line("  - ", rapid.SampledFrom([]string{"task", "task", "shell"}).Draw(rt, "kind"), ": ", word.Draw(rt, "text"))
				if rapid.IntRange(0, 9).Draw(rt, "named") > 0 {
					line("    name: ", section[:1], name.Draw(rt, "name"))
				}
				for _, key := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"foreach", "when", "after", "serial", "gates", "title", "description", "until", "output"}), 0, 3, rapid.ID[string]).Draw(rt, "keys") {
					value := word
					switch key {
					case "foreach":
						value = rapid.SampledFrom([]string{"${l}", "[a, b]", "[{name: n, x: y}]", "${item}", "[]"})
					case "when":
						value = rapid.SampledFrom([]string{"{input: a}", "{input: a, is: 1}", "{input: b, in: '${l}'}", "{input: item, not: a}", "x", "{step: sa, status: done}", "{step: ba, matches: x}", "{step: sb, input: a, lacks: y}"})
					case "after":
						value = rapid.SampledFrom([]string{"[]", section[:1] + "a", "[" + section[:1] + "b, " + section[:1] + "a]", "[zzz]"})
					case "serial":
						value = rapid.SampledFrom([]string{"true", "false"})
					}
					line("    ", key, ": ", value.Draw(rt, key))
				}
			}
		}
		var vars []Var
		for _, v := range []string{"a", "b", "l"} {
			if rapid.Bool().Draw(rt, "given "+v) {
				vars = append(vars, Var{v, rapid.SampledFrom([]string{"1", "p,q", "p,p", "", "[", `["z"]`, "a\nb"}).Draw(rt, v)})
			}
		}
		laws(rt, b.String(), vars)
	})
}
