package permission

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ralph/internal/seq"
	_ "ralph/internal/testing/seeded" // the same values each time
	"ralph/internal/toolcall"

	"ralph/internal/provenance"
	"ralph/internal/testing/check"
)

func rules(t testing.TB, l Lists) *Rules {
	t.Helper()
	r, err := New(l, Lists{})
	check.OK(t, err)
	return r
}

func example() Lists {
	return Lists{
		Deny:  []string{"execute:git push*", "write:**/.env*", "execute:curl *"},
		Ask:   []string{"execute:rm -rf *", "delete:**", "execute:terraform apply*"},
		Allow: []string{"read:**", "execute:go test *"},
	}
}

// A command is denied or asked about because of any simple command in it, however it is written.
func TestCommands(t *testing.T) {
	t.Parallel()
	r := rules(t, example())
	for command, want := range map[string]string{
		"ls -la":                          "allow default",
		"go test ./...":                   "allow allow execute:go test *",
		"git status":                      "allow default",
		"git push":                        "deny deny execute:git push*",
		"git  push\torigin":               "deny deny execute:git push*",
		`g'i't "push"`:                    "deny deny execute:git push*",
		`\git push`:                       "deny deny execute:git push*",
		"/usr/bin/git push":               "deny deny execute:git push*",
		"make && git push":                "deny deny execute:git push*",
		"make; git push; ls":              "deny deny execute:git push*",
		"(cd x && git push)":              "deny deny execute:git push*",
		"{ git push; }":                   "deny deny execute:git push*",
		"echo $(git push)":                "deny deny execute:git push*",
		"echo \"`git push`\"":             "deny deny execute:git push*",
		"cat <(git push)":                 "deny deny execute:git push*",
		"ls | xargs -n1 git push":         "deny deny execute:git push*",
		"if true; then git push; fi":      "deny deny execute:git push*",
		"f() { git push; }; f":            "deny deny execute:git push*",
		"GIT_DIR=x git push":              "deny deny execute:git push*",
		"env -u A B=c git push":           "deny deny execute:git push*",
		"sudo -u root nice -n 5 git push": "deny deny execute:git push*",
		"timeout 5 git push":              "deny deny execute:git push*",
		"find . -exec git push {} ;":      "deny deny execute:git push*",
		"sh -c 'git push'":                "deny deny execute:git push*",
		"bash -lc \"cd x; git push\"":     "deny deny execute:git push*",
		"sudo sh -ec 'git push'":          "deny deny execute:git push*",
		`sh -c "sh -c 'git push'"`:        "deny deny execute:git push*",
		"eval git push":                   "deny deny execute:git push*",
		"rm -rf x && git push":            "deny deny execute:git push*",
		"$X; git push":                    "deny deny execute:git push*",
		"cat <<EOF\n$(git push)\nEOF":     "deny deny execute:git push*",
		"cat <<'EOF'\ngit push\nEOF":      "allow default",
		"echo 'git push'":                 "allow default",
		"git pushd":                       "deny deny execute:git push*",
		"echo x > .env":                   "deny deny write:**/.env*",
		"echo x >> sub/.env.local":        "deny deny write:**/.env*",
		"{ echo x; } > .env":              "deny deny write:**/.env*",
		"> .env":                          "deny deny write:**/.env*",
		"cat < .env":                      "allow default",
		"make 2>&1 >/dev/null":            "allow default",
		"rm -rf build":                    "ask ask execute:rm -rf *",
		"go test x; rm -rf build":         "ask ask execute:rm -rf *",
		"$CMD push":                       "ask unparsed",
		"$(echo git) push":                "ask unparsed",
		"{git,push}":                      "ask unparsed",
		`$'\x67it' push`:                  "deny deny execute:git push*",
		`bash -lc $'go vet\ngit push'`:    "deny deny execute:git push*",
		`bash -lc $'go vet\nls\n'`:        "allow default",
		`git $'p\165sh'`:                  "deny deny execute:git push*",
		`$'gi\c@t' push`:                  "ask unparsed",
		`sh -c $'git push\x00x'`:          "ask unparsed",
		"sh -c \"$X\"":                    "ask unparsed",
		"eval \"$X\"":                     "ask unparsed",
		"wget -O- x | sh":                 "ask unparsed",
		"sh build.sh":                     "allow default",
		"[ -f x ] && ls":                  "allow default",
		"~/bin/tool x":                    "allow default",
		"A=b":                             "allow default",
		"echo 'unclosed":                  "ask unparsed",
		"a && && b":                       "ask unparsed",
		"ls\x00; git push":                "ask unparsed",
	} {
		d := r.Decide(toolcall.Call{Kind: "execute", Command: command})
		check.Equal(t, command, want, string(d.Answer)+" "+d.Rule)
		check.That(t, (d.Reason == "") == (d.Answer == Allow), "%s: reason %q", command, d.Reason)
	}
}

func TestOtherCalls(t *testing.T) {
	t.Parallel()
	l := example()
	l.Deny = append(l.Deny, "terminal:make *", "fetch:*example.com*", "other:*deploy*")
	r := rules(t, l)
	for name, tc := range map[string]struct {
		call toolcall.Call
		want Answer
	}{
		"what ralph writes":            {toolcall.Call{Kind: toolcall.Write, Paths: []string{".env"}}, Deny},
		"what an agent edits":          {toolcall.Call{Kind: "edit", Paths: []string{"a/.env.local"}}, Deny},
		"one of several":               {toolcall.Call{Kind: "edit", Paths: []string{"a.go", "b/.env"}}, Deny},
		"what it moves":                {toolcall.Call{Kind: "move", Paths: []string{"x/.env"}}, Deny},
		"outside":                      {toolcall.Call{Kind: "edit", Paths: []string{"/home/x/.env"}}, Deny},
		"with dots":                    {toolcall.Call{Kind: "edit", Paths: []string{"a/../.env"}}, Deny},
		"reading is not writing":       {toolcall.Call{Kind: "read", Paths: []string{".env"}}, Allow},
		"deleting":                     {toolcall.Call{Kind: "delete", Paths: []string{"a"}}, Ask},
		"deleting something":           {toolcall.Call{Kind: "delete", Text: "Delete it"}, Ask},
		"a terminal executes":          {toolcall.Call{Kind: toolcall.Terminal, Command: "git push"}, Deny},
		"in a terminal only":           {toolcall.Call{Kind: toolcall.Terminal, Command: "make all"}, Deny},
		"by itself it may":             {toolcall.Call{Kind: "execute", Command: "make all"}, Allow},
		"an address":                   {toolcall.Call{Kind: "fetch", Text: "https://www.example.com/x"}, Deny},
		"a tool of a server":           {toolcall.Call{Kind: "other", Text: "mcp: deploy now"}, Deny},
		"a kind that nobody knows":     {toolcall.Call{Kind: "strange", Text: "deploy"}, Deny},
		"a command that reads":         {toolcall.Call{Kind: "read", Command: "cat a", Paths: []string{"a"}}, Allow},
		"a command that says it reads": {toolcall.Call{Kind: "read", Command: "cat a; git push", Paths: []string{"a"}}, Deny},
		"a command of another tool":    {toolcall.Call{Kind: "other", Command: "rm -rf a", Text: "Clean"}, Ask},
		"a title, if there is no more": {toolcall.Call{Kind: "execute", Text: "something"}, Allow},
	} {
		check.Equal(t, name, tc.want, r.Decide(tc.call).Answer)
	}
}

// With another default, each simple command needs a rule that allows it as a whole.
func TestTheDefault(t *testing.T) {
	t.Parallel()
	r := rules(t, Lists{Default: Deny, Allow: []string{"execute:go *", "execute:ls"}})
	for command, want := range map[string]Answer{
		"go test": Allow, "go test && ls": Allow, "go test > out.txt": Allow, "go test; make": Deny, "xargs go test": Deny, "/usr/bin/ls": Allow,
		"$X": Deny, "(": Ask,
	} {
		check.Equal(t, command, want, r.Decide(toolcall.Call{Kind: "execute", Command: command}).Answer)
	}
	reads := rules(t, Lists{Default: Deny, Allow: []string{"read:**"}})
	check.Equal(t, "a command by which it reads", Allow, reads.Decide(toolcall.Call{Kind: "read", Command: "cat x", Paths: []string{"x"}}).Answer)
	check.Equal(t, "no rule", Deny, r.Decide(toolcall.Call{Kind: "read", Paths: []string{"x"}}).Answer)
	check.That(t, r.Restrict(), "a default that denies restricts")
	check.That(t, !rules(t, Lists{Allow: []string{"read:**"}}).Restrict(), "allowing restricts nothing")
}

// What is not known about a command is nobody's business if no rule is about commands.
func TestCommandsWithoutRulesForThem(t *testing.T) {
	t.Parallel()
	r := rules(t, Lists{Deny: []string{"write:**/.env*"}})
	check.Equal(t, "unclear", Allow, r.Decide(toolcall.Call{Kind: "execute", Command: "$CC x.c"}).Answer)
	check.Equal(t, "redirected", Deny, r.Decide(toolcall.Call{Kind: "execute", Command: "$CC x.c > .env"}).Answer)
}

func TestBadRules(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "matches every call", "*": "matches every call", "**": "matches every call", "*:*": "matches every call", ":": "matches every call",
		"git push": "has no kind", "*:x": "every kind", "run:x": `"run" is not one of read, edit`, "execute:": "has no pattern",
		"write:[a": "not closed", "write:{a": "not closed", "read:~/.ssh/**": "~ is not expanded", "write:../x": ".. matches nothing",
		"write:" + strings.Repeat("{a,b}", 20): "too many alternatives", "execute:a\nb": "line break",
		"execute:" + strings.Repeat("x", 5000): "longer than",
	} {
		_, err := ParseRule(text)
		if err == nil {
			t.Errorf("%q was accepted", text)
			continue
		}
		check.Contains(t, text, want, err.Error())
	}
	for name, l := range map[string]Lists{"deny": {Deny: []string{}}, "ask": {Ask: []string{"x"}}, "allow": {Allow: []string{"read:**", "nothing:x"}}} {
		key, why := l.Invalid()
		check.That(t, key == name && why != "", "got %s: %s, want %s", key, why, name)
	}
}

// Answers that are remembered are rules for exactly what was asked, and count before what is to be asked.
func TestRemembered(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "permissions.toml")
	open := func() *Book {
		b := &Book{Linked: provenance.Linked{Path: path}}
		check.OK(t, b.Open(Lists{Deny: []string{"execute:git push*"}, Ask: []string{"execute:rm *", "write:**/*.lock"}}))
		return b
	}
	b, other := open(), open()
	answer := func(b *Book, command string) Answer {
		return b.Decide(toolcall.Call{Kind: "execute", Command: command}).Answer
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	ask := b.Decide(toolcall.Call{Kind: "execute", Command: `make && rm "a*b\c" && rm x`})
	check.Equal(t, "before", Ask, ask.Answer)
	check.OK(t, b.Add(ask, Always, "ann", at))
	check.OK(t, b.Add(ask, Always, "ann", at)) // once
	check.OK(t, other.Add(other.Decide(toolcall.Call{Kind: "execute", Command: "rm y"}), Never, "bob", at))
	check.OK(t, b.Add(b.Decide(toolcall.Call{Kind: "edit", Paths: []string{"a/[x].lock"}}), Always, "ann", at))
	for _, b := range []*Book{b, other, open()} {
		for command, want := range map[string]Answer{
			"rm x": Allow, `rm 'a*b\c'`: Allow, "rm x && rm z": Ask, "rm axb": Ask, "rm y": Deny, "sudo rm y": Deny, "sudo rm x": Ask, "rm x; git push": Deny,
		} {
			check.Equal(t, command, want, answer(b, command))
		}
		check.Equal(t, "the file", Allow, b.Decide(toolcall.Call{Kind: toolcall.Write, Paths: []string{"a/[x].lock"}}).Answer)
		check.Equal(t, "another file", Ask, b.Decide(toolcall.Call{Kind: toolcall.Write, Paths: []string{"a/x.lock"}}).Answer)
	}
	text, err := os.ReadFile(path)
	check.OK(t, err)
	check.Equal(t, "rules", 4, strings.Count(string(text), "[[rule]]"))
	check.Contains(t, "file", "rule = 'execute:rm x'\nby = 'ann'\nat = 2026-01-02T03:04:05Z\n", string(text))
	check.That(t, strings.HasPrefix(strings.TrimSpace(string(text)), "# What people answered"), "got %s", text)

	check.OK(t, os.WriteFile(path, []byte("# by hand\n[[rule]]\nanswer = \"always\"\nrule = \"execute:rm z\""), 0o600))
	check.Equal(t, "a person's rule", Allow, answer(b, "rm z"))
	check.Equal(t, "a rule that a person removed", Ask, answer(b, "rm x"))
	check.OK(t, b.Add(b.Decide(toolcall.Call{Kind: "execute", Command: "rm x"}), Always, "ann", at))
	text, err = os.ReadFile(path)
	check.OK(t, err)
	check.That(t, strings.HasPrefix(string(text), "# by hand\n") && answer(open(), "rm z") == Allow, "got %s", text)
}

// TestRulesThatAnAgentWrites never count: the file that does is out of its reach, and all it can do is to put something else in
// the place of the link. A person reads and edits the rules there, and can make others count.
func TestRulesThatAnAgentWrites(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	state := filepath.Join(dir, "state", "shop")
	link := filepath.Join(dir, "permissions.toml")
	open := func() *Book {
		b := &Book{Linked: provenance.Linked{Path: filepath.Join(state, "permissions.toml"), Link: link}}
		check.OK(t, b.Open(Lists{Ask: []string{"execute:rm *"}}))
		return b
	}
	const planted = "[[rule]]\nanswer = \"always\"\nrule = \"execute:rm *\"\n"
	answers := func(b *Book, want map[string]Answer) {
		t.Helper()
		for command, answer := range want {
			check.Equal(t, command, answer, b.Decide(toolcall.Call{Kind: "execute", Command: command}).Answer)
		}
	}
	b := open()
	b.Watch()
	check.OK(t, b.Add(b.Decide(toolcall.Call{Kind: "execute", Command: "rm b"}), Always, "ann", time.Time{}))
	check.OK(t, b.Add(b.Decide(toolcall.Call{Kind: "execute", Command: "rm c"}), Never, "ann", time.Time{}))
	text, err := os.ReadFile(link)
	check.That(t, err == nil && strings.Contains(string(text), "rm b"), "got %q, %v", text, err)
	counts := map[string]Answer{"rm b": Allow, "rm c": Deny, "rm x": Ask}
	for name, spoil := range map[string]func() error{
		"rules": func() error { return os.WriteFile(link, []byte(planted), 0o600) }, "nothing": func() error { return nil },
		"a link":   func() error { return os.Symlink("/etc/passwd", link) },
		"a folder": func() error { return os.MkdirAll(filepath.Join(link, "x"), 0o700) },
		"a pipe":   func() error { return exec.Command("mkfifo", link).Run() },
	} {
		check.OK(t, os.Remove(link))
		check.OK(t, spoil())
		answers(b, counts)
		answers(open(), counts)
		check.Equal(t, name+" is found", name != "nothing", b.Stray())
		found, err := b.Reject()
		check.That(t, err == nil && (len(found) == 1) == (name != "nothing"), "%s: %q, %v", name, found, err)
		if name == "nothing" {
			check.OK(t, b.Add(b.Decide(toolcall.Call{Kind: "execute", Command: "rm d"}), Always, "ann", time.Time{})) // which makes it anew
			counts["rm d"] = Allow
		}
		check.That(t, !b.Stray() && exists(link), "%s: the link is missing", name)
		found, err = b.Reject()
		check.That(t, err == nil && len(found) == 0, "%s, again: %q, %v", name, found, err)
	}

	// A person's file is left alone, and counts when it is confirmed.
	check.OK(t, os.Remove(link))
	check.OK(t, os.WriteFile(link, []byte(planted), 0o600))
	b = open()
	b.Watch()
	found, err := b.Reject()
	check.That(t, err == nil && len(found) == 0 && b.Stray(), "a person's: %q, %v", found, err)
	answers(b, counts)
	adopted, err := b.Adopt()
	check.OK(t, err)
	check.Equal(t, "shown", []string{"rules from " + link + " that count from now on: 1", "  always execute:rm *"}, adopted)
	answers(open(), map[string]Answer{"rm x": Allow, "rm c": Allow})
	adopted, err = b.Adopt() // once is enough
	check.That(t, err == nil && len(adopted) == 0, "again: %q, %v", adopted, err)

	// So does the link of a project that has moved, but no other.
	moved := &Book{Linked: provenance.Linked{Path: filepath.Join(dir, "state", "moved", "permissions.toml"), Link: link}}
	check.That(t, moved.Stray(), "it is that of another project")
	adopted, err = moved.Adopt()
	check.That(t, err == nil && len(adopted) == 2, "moved: %q, %v", adopted, err)
	check.OK(t, moved.Open(Lists{Ask: []string{"execute:rm *"}}))
	answers(moved, map[string]Answer{"rm x": Allow})
	check.OK(t, os.Remove(link))
	check.OK(t, os.Symlink("/etc/passwd", link))
	_, err = moved.Adopt()
	check.Err(t, "any link", "where no rules are", err)
	check.OK(t, os.Remove(link))
	check.OK(t, os.WriteFile(link, []byte("[[rule"), 0o600))
	_, err = moved.Adopt()
	check.Err(t, "nonsense", link+":1", err)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func TestFilesThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"[[rule]]\nanswer = \"maybe\"\nrule = \"execute:x\"":                                       `:1: rule 1: answer: "maybe"`,
		"# x\n[[rule]]\nanswer=\"never\"\nrule=\"read:a\"\n[[rule]]\nanswer=\"never\"\nrule=\"*\"": ":5: rule 2: ",
		"[[rule]]\nanser = \"never\"":                                                              ":2: unknown key rule.anser",
		"rule = 7":                                                                                 ":1: ",
		"[[rule":                                                                                   ":1: ",
	} {
		path := filepath.Join(t.TempDir(), "permissions.toml")
		check.OK(t, os.WriteFile(path, []byte(text), 0o600))
		err := (&Book{Linked: provenance.Linked{Path: path}}).Open(Lists{})
		if err == nil {
			t.Errorf("%q was accepted", text)
			continue
		}
		check.Contains(t, text, path+want, err.Error())
		var told []string
		check.OK(t, os.Remove(path))
		b := &Book{Linked: provenance.Linked{Path: path}, Warn: func(s string) { told = append(told, s) }}
		check.OK(t, b.Open(Lists{Deny: []string{"execute:x"}}))
		check.OK(t, os.WriteFile(path, []byte(text), 0o600))
		check.Equal(t, "with a file that broke", Deny, b.Decide(toolcall.Call{Kind: "execute", Command: "x"}).Answer)
		check.That(t, len(told) == 1, "got %q", told)
	}
	dir := t.TempDir()
	check.OK(t, os.Symlink("/etc/passwd", filepath.Join(dir, "permissions.toml")))
	check.That(t, (&Book{Linked: provenance.Linked{Path: filepath.Join(dir, "permissions.toml")}}).Open(Lists{}) != nil, "a link was followed")
}

// What comes as words is read as just these.
func TestCommandsThatComeAsWords(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		words := append([]string{"prog"}, rapid.SliceOfN(rapid.StringMatching(`[^\x00]*`), 0, 4).Draw(t, "words")...)
		list := splitCommand(covers(toolcall.Execute), toolcall.ShellLine(words))
		check.Equal(t, "commands", []string{strings.Join(words, " ")}, seq.Map(list, part.String))
		check.Equal(t, "unclear", "", list[0].unclear)
	})
}

// Nothing that an agent sends, and no rule that is accepted, costs much: without the bounds, some of these take
// minutes or the memory of the machine.
func TestHostileCommands(t *testing.T) {
	t.Parallel()
	l := Lists{Ask: []string{"execute:" + strings.Repeat("a*", 2000), "write:" + strings.Repeat("**/a*", 400)}}
	for range 10000 {
		l.Deny = append(l.Deny, "execute:git*p*u*s*h*x")
	}
	r := rules(t, l)
	const n = maxCommand
	for name, command := range map[string]string{
		"1 MB": strings.Repeat("a", 1<<20), "subshells": strings.Repeat("(", 10000) + "a" + strings.Repeat(")", 10000),
		"spaced subshells": strings.Repeat("( ", 3900) + "a" + strings.Repeat(" )", 3900), "open": strings.Repeat("(", n), "ifs": strings.Repeat("if ", n/3),
		"substitutions": strings.Repeat("$(", 3900), "quoted": strings.Repeat(`"$(`, 3900), "parameters": strings.Repeat("${a:-", 3900), "slices": "${a:" + strings.Repeat("(", 3900),
		"pipes": strings.Repeat("a|", n/2-1) + "a", "lists": strings.Repeat("a;", n/2), "ternaries": "$((" + strings.Repeat("1?", n/2-4), "words": strings.Repeat("a ", n/2),
		"NUL": strings.Repeat("\x00", n), "evals": "env " + strings.Repeat("eval ", 5000) + "a", "backquotes": strings.Repeat("`", n), "not UTF-8": strings.Repeat("\xff\xfe", n/2),
		"shells": strings.Repeat("env sh -c 'a' ", 2000),
	} {
		began := time.Now()
		d := r.Decide(toolcall.Call{Kind: "execute", Command: command})
		r.Decide(toolcall.Call{Kind: toolcall.Write, Paths: []string{command}})
		t.Log(name, d.Answer, time.Since(began))
	}
}

func FuzzDecide(f *testing.F) {
	for _, s := range []string{"rm a; rm 'b\nc'", "git push", "a && b", "sh -c 'x'", "$(x)", "a > b", "(", "env -i x"} {
		f.Add(s)
	}
	r, err := New(Lists{Deny: []string{"execute:git push*"}, Ask: []string{"execute:rm *"}}, Lists{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, command string) { laws(t, r, command) })
}

func TestLaws(t *testing.T) {
	t.Parallel()
	r := rules(t, Lists{Deny: []string{"execute:git push*"}, Ask: []string{"execute:rm *"}})
	word := rapid.SampledFrom([]string{"git", "push", "rm", "x", ";", "&&", "|", "(", ")", "$(", "`", "'", `"`, "\\", " ", "\n", ">", "env", "sh", "-c", "{", "}", "$X", "eval"})
	rapid.Check(t, func(t *rapid.T) { laws(t, r, strings.Join(rapid.SliceOfN(word, 0, 12).Draw(t, "words"), " ")) })
}

// laws hold for every command: what is denied stays so in any company, an answer that is remembered is one, and
// two decisions are the same.
func laws(t interface{ Fatalf(string, ...any) }, r *Rules, command string) {
	call := toolcall.Call{Kind: "execute", Command: command}
	d := r.Decide(call)
	if again := r.Decide(call); again.Answer != d.Answer || again.Rule != d.Rule {
		t.Fatalf("%q: %+v, then %+v", command, d, again)
	}
	if got := r.Decide(toolcall.Call{Kind: "execute", Command: "git push\n" + command}); got.Answer == Allow {
		t.Fatalf("%q: allowed after a command that is denied", command)
	}
	if d.Answer != Ask || len(d.open) == 0 {
		return
	}
	for remember, want := range map[Remember]Answer{Always: Allow, Never: Deny} {
		b := &Book{lists: Lists{Deny: []string{"execute:git push*"}, Ask: []string{"execute:rm *"}}}
		var kept []entry
		for _, rule := range d.open {
			kept = append(kept, entry{Answer: remember, Rule: rule.String()})
		}
		if err := b.use(kept); err != nil {
			t.Fatalf("%q: %v", command, err)
		}
		if got := b.rules.Decide(call); got.Answer != want {
			t.Fatalf("%q: %s, and then %s by %s", command, remember, got.Answer, got.Rule)
		}
	}
}
