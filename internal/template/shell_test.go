package template

import (
	"os/exec"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ralph/internal/testing/check"
)

// TestAValueIsNoMoreOfACommandThanItsPlaceSays in every field that a shell reads.
func TestAValueIsNoMoreOfACommandThanItsPlaceSays(t *testing.T) {
	t.Parallel()
	const odd = "x'; rm -rf ~ #"
	word := `write ${a|quote} to have it as one word, or ${a|raw} if the shell is to read it`
	for name, tc := range map[string]struct{ command, want, err string }{
		"a word":                 {"echo ${a}", "", word},
		"a part of one":          {"make test-${a}", "", word},
		"in quotation marks":     {`echo \"${a}\"`, "", "outside of quotation marks"},
		"in single ones":         {"echo '${a}'", "", "outside of quotation marks"},
		"in a here-document":     {`cat <<E\n${a}\nE\n`, "", "outside of quotation marks"},
		"in backquotes":          {"echo `cat ${a}`", "", "outside of quotation marks"},
		"with an argument":       {"${a} --all", "", word},
		"of an assignment":       {"A=${a} make", "", word},
		"continued":              {`echo \\\n  ${a}`, "", word},
		"in a comment":           {"true # ${a}", "", "outside of quotation marks"},
		"no shell's":             {"echo ( ${a}", "", "outside of quotation marks"},
		"all of a command":       {"${a}", odd, ""},
		"all of a line":          {`true\n${a}\n`, "true\n" + odd, ""},
		"one of several":         {"cd x && ${a}", "cd x && " + odd, ""},
		"quoted":                 {"echo ${a|quote}", `echo 'x'\''; rm -rf ~ #'`, ""},
		"quoted as a part":       {"echo b${ a | quote }", `echo b'x'\''; rm -rf ~ #'`, ""},
		"quoted in substitution": {`echo \"$(cat ${a|quote})\"`, `echo "$(cat 'x'\''; rm -rf ~ #')"`, ""},
		"raw":                    {"echo ${a|raw}", "echo " + odd, ""},
		"a list":                 {"ls ${l|quote}", "ls p 'q r'", ""},
		"put together":           {"${d}", "", "the value of ${d} has that of ${a} in it"},
		"put together in a list": {"${dl}", "", "has that of ${a} in it"},
		"put together, quoted":   {"${q}", `make 'x'\''; rm -rf ~ #'`, ""},
		"through another":        {"${same}", odd, ""},
	} {
		for field, step := range map[string]string{
			"shell": `{name: s, shell: "COMMAND"}`, "gates": `{name: s, task: t, gates: ["COMMAND"]}`, "until": `{name: s, task: t, until: "COMMAND"}`,
			"context": `{name: s, task: t, context: ["COMMAND"]}`, "expect_red": `{name: s, task: t, expect_red: "COMMAND"}`,
			"a block": "{name: s, task: t, description: \"so:\\n```sh\\nCOMMAND\\n```\\n\"}",
		} {
			text := "inputs: {a: {required: true}, l: {list: true, default: [p, q r]}, d: {default: 'make ${a}'}, q: {default: 'make ${a|quote}'}, same: {default: '${a}'}, " +
				"dl: {list: true, default: ['make ${a}']}}\nsteps:\n  - " + strings.ReplaceAll(step, "COMMAND", tc.command) + "\n"
			specs, err := parse(t, text).Expand("", []Var{{"a", odd}})
			if tc.err != "" {
				check.Err(t, name+" in "+field, tc.err, err)
				continue
			}
			check.OK(t, err)
			s := specs[0]
			check.Contains(t, name+" in "+field, tc.want, strings.Join(append(append([]string{s.Description}, s.Gates...), s.Context...), "\n"))
		}
	}
}

func TestFiltersThatCannotWork(t *testing.T) {
	t.Parallel()
	for step, want := range map[string]string{
		"{name: s, task: t, gates: [\"echo '${a|quote}'\"]}":     "line 3: ${a|quote} brings its own quotation marks",
		`{name: s, task: t, gates: ['echo "${a|quote}"']}`:       "line 3: ${a|quote} brings its own quotation marks",
		`{name: s, shell: "cat <<E\n${a|quote}\nE\n"}`:           "${a|quote} brings its own quotation marks",
		`{name: s, task: "do ${a|quote}"}`:                       "line 3: ${a|quote}: this is no command, so there is nothing to quote; write ${a}",
		`{name: s, task: t, when: {input: a, is: "${a|quote}"}}`: "this is no command",
		`{name: s, shell: "${a|upper}"}`:                         "${a|upper} is no expression",
		`{name: s, shell: "echo ${item.x|quote}", foreach: []}`:  "",
	} {
		_, err := Parse([]byte("inputs: {a: {}}\nsteps:\n  - " + step + "\n"))
		if want == "" {
			check.OK(t, err)
			continue
		}
		check.Err(t, step, want, err)
	}
}

// TestAQuotedValueReachesTheCommand as it is, whatever is in it.
func TestAQuotedValueReachesTheCommand(t *testing.T) {
	t.Parallel()
	tpl := parse(t, "inputs: {a: {default: ''}}\nsteps:\n  - {name: s, task: t, gates: [\"printf %s ${a|quote}\"]}\n")
	rapid.Check(t, func(rt *rapid.T) {
		value := rapid.StringOf(rapid.RuneFrom([]rune("ab '\"\\$`(){};&|<>*?#~!-é%"))).Draw(rt, "value")
		specs, err := tpl.Expand("", []Var{{"a", value}})
		if err != nil {
			rt.Fatal(err)
		}
		out, err := exec.Command("sh", "-c", specs[0].Gates[0]).Output()
		if err != nil || string(out) != value {
			rt.Fatalf("%q became %q: %v", value, out, err)
		}
	})
}
