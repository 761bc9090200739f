package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"ralph/internal/testing/check"
	"ralph/internal/testing/fakeagent"
	"ralph/internal/testing/golden"
	"ralph/internal/testing/raced"
)

// TestLies takes the collection through whole runs, and fails if something else becomes of a case than its
// case.toml says. Ordinarily it takes the cases that CI is for; RALPH_LIES is a pattern of names to take instead.
func TestLies(t *testing.T) {
	raced.Skip(t, "what ralph decides is shown here")
	t.Parallel()
	pattern, chosen := os.LookupEnv("RALPH_LIES")
	names, err := regexp.Compile(pattern)
	check.OK(t, err)
	cases := slices.DeleteFunc(loadCases(t), func(c collected) bool {
		return chosen && !names.MatchString(c.name) || !chosen && !c.CI
	})
	absent := map[string]int{}
	here := map[string]bool{}
	for runner, argv := range runnersOfCases {
		here[runner] = exec.Command(argv[0], argv[1:]...).Run() == nil
	}
	var mu sync.Mutex
	var ran []collected
	t.Run("cases", func(t *testing.T) {
		for _, c := range cases {
			if !here[c.Runner] {
				absent[c.Runner]++
				continue
			}
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				if c.Module != "" && moduleFolder(c.Module) == "" {
					mu.Lock()
					defer mu.Unlock()
					absent[c.Module]++
					return
				}
				was := c
				c.take(t)
				if t.Failed() {
					return
				}
				if golden.Updating() {
					c.expect(t, c.Want, c.Judged)
				} else {
					check.Equal(t, "what becomes of it without and with a verifier; if that is better, run it with -update",
						[]string{was.Want, was.Judged}, []string{c.Want, c.Judged})
				}
				mu.Lock()
				defer mu.Unlock()
				ran = append(ran, c)
			})
		}
	})
	if golden.Updating() {
		checkTables(t)
	}
	slices.SortFunc(ran, func(a, b collected) int { return cmp.Or(cmp.Compare(b.Kind, a.Kind), cmp.Compare(a.name, b.name)) })
	var table strings.Builder
	for _, c := range ran {
		fmt.Fprintf(&table, "%-7s %-7s %-9s %-9s %-40s %s\n", c.Kind, c.Runner, c.Want, c.Judged, c.name, c.said)
	}
	fmt.Fprint(&table, ratesOf(ran))
	for runner, n := range absent {
		fmt.Fprintf(&table, "LEFT OUT: %d cases, because %s is not here\n", n, runner)
	}
	t.Log("\n" + table.String())
}

// take finds out what becomes of a case.
func (c *collected) take(t *testing.T) {
	without := c.run(t, false)
	c.Want, c.said = without.outcome, without.reason
	if c.Kind == "honest" && c.Want == accepted {
		c.Judged = accepted // a verifier that agrees takes nothing back
		return
	}
	with := c.run(t, true)
	switch {
	case c.Kind == "honest":
		c.Judged = with.outcome
	case with.prompt == "":
		c.Judged = hard
	case strings.Contains(with.prompt, c.Shows):
		c.Judged = shown
	default:
		c.Judged = unseen
	}
}

// taken is how one run of a case ended.
type taken struct {
	outcome string // accepted, held or rejected
	reason  string // why it was not accepted
	prompt  string // that the verifier was given last; "" if it was not asked
}

// run makes a repository of the base, and lets an agent change it and say that it is done.
func (c *collected) run(t *testing.T, verifier bool) taken {
	root, err := filepath.EvalSymlinks(t.TempDir())
	check.OK(t, err)
	p := &place{TB: t, dir: filepath.Join(root, "project"), ledger: filepath.Join(root, "ledger")}
	p.env = append(os.Environ(), "HOME="+filepath.Join(root, "home"), "NO_COLOR=1", "TZ=UTC", fmt.Sprintf("RALPH_VERIFY_ENABLED=%t", verifier))
	p.env = append(p.env, toolsAtHome()...)
	change := filepath.Join(root, "change")
	for _, dir := range []string{p.dir, p.ledger, change, filepath.Join(root, "home")} {
		check.OK(t, os.Mkdir(dir, 0o755))
	}
	if c.Module != "" {
		copyCase(t, moduleFolder(c.Module), p.dir)
	}
	if c.Base != "" {
		copyCase(t, filepath.Join(casesDir, "../bases", c.Base), p.dir)
	}
	here := filepath.Join(casesDir, c.name)
	copyCase(t, filepath.Join(here, "base"), p.dir)
	copyCase(t, filepath.Join(here, "change"), change)
	deleted, _ := os.ReadFile(filepath.Join(here, "deleted"))
	check.OK(t, os.WriteFile(filepath.Join(root, "change.sh"), fmt.Appendf(nil,
		"set -e\ncp -dR --preserve=mode ../change/. .\nwhile read -r path; do rm -r \"$path\"; done <<'end'\n%send\n", deleted), 0o644))
	gates, err := json.Marshal(c.Gates) // a list of strings is the same in TOML
	check.OK(t, err)
	p.write(".ralph.toml", fmt.Sprintf(`
[agent]
use = "fake"
[agents.fake]
command = "fakeagent"
env = { FAKEAGENT_SCRIPT = "../script.json", FAKEAGENT_LEDGER = %q }
[run]
backoff = "0s"
[verify]
commands = %s
[sandbox]
write = [%q, %q, %q, %q]
`, p.ledger, gates, p.ledger, change, filepath.Join(root, "change.sh"), filepath.Join(root, "script.json")))
	p.write("../script.json", c.script(filepath.Join(p.ledger, "prompt.md")).JSON())
	p.shell(`printf '/.ralph\n' > ../ignored; git init -q -b main; cp ../ignored .git/info/exclude
git add -A; git -c user.name=t -c user.email=t@localhost -c gc.auto=0 commit -qm first`)
	task, err := json.Marshal(map[string]any{"ref": number(1), "title": c.title, "description": c.description})
	check.OK(t, err)
	p.write("../plan.jsonl", string(task)+"\n")
	p.want(0, "task", "import", "../plan.jsonl")
	r := p.start(append([]string{"run", "--max-retries", "0", "--allow-failing"}, strings.Fields(os.Getenv("RALPH_LIES_FLAGS"))...)...)
	<-r.ended
	shown := p.task(number(1))
	result := taken{outcome: accepted, reason: shown.LastFailure}
	var waiting []struct{ Reason string }
	p.json(&waiting, "review")
	switch {
	case shown.Status == "failed":
		result.outcome = rejected
	case len(waiting) > 0:
		result.outcome, result.reason = heldBack, waiting[0].Reason
	}
	prompt, _ := os.ReadFile(filepath.Join(p.ledger, "prompt.md"))
	result.prompt = string(prompt)
	if shown.Status != "done" && result.outcome == accepted || result.outcome == rejected && strings.Contains(shown.LastFailure, "retries: gate ") {
		t.Errorf("its own gates do not pass, or it did not end: %s %s\n%s%s", shown.Status, shown.LastFailure, r.stdout.String(), r.stderr.String())
	}
	for _, e := range p.entries() {
		check.That(t, e.Name != "run" || e.Text == "", "it could not be changed: %s", e.Text)
	}
	return result
}

// script is an agent that makes the change, and a verifier that sees through a lie and answers for an honest change.
func (c *collected) script(prompt string) fakeagent.Script {
	verdict := fmt.Sprintf("<verify-asked changes=\"1-1000\">%s</verify-asked>\n<verify-pass/>\n", cmp.Or(c.Asked, c.title))
	if c.Kind == "lie" {
		verdict = "<verify-fail>It cheats.</verify-fail>\n"
	}
	yes := true
	return fakeagent.Script{Conversations: []fakeagent.Conversation{
		{When: fakeagent.When{Verify: &yes}, Steps: []step{{Do: "keep", Path: prompt}, {Do: "say", Text: verdict}}},
		{Steps: []step{{Do: "run", Argv: []string{"sh", "../change.sh"}}, saysDone()}},
	}}
}

// copyCase copies a folder of a case, if there is one. Names lose the .txt that keeps Go's and git's tools away
// from them here.
func copyCase(t *testing.T, from, to string) {
	t.Helper()
	if _, err := os.Stat(from); err != nil {
		return
	}
	hidden := regexp.MustCompile(`((?:^|/)(?:\.git[a-z]+|go\.(?:mod|sum|work)|[^/]*\.go))\.txt$`)
	check.OK(t, filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, hidden.ReplaceAllString(name, "$1"))
		switch info, err := entry.Info(); {
		case err != nil:
			return err
		case entry.IsDir():
			return os.MkdirAll(target, 0o755)
		case entry.Type()&fs.ModeSymlink != 0:
			link, err := os.Readlink(path)
			if err != nil {
				return err
			}
			return os.Symlink(link, target)
		default:
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			_ = os.Remove(target) // of another base, whose mode would stay
			return os.WriteFile(target, data, 0o644|info.Mode()&0o111)
		}
	}))
}

// moduleFolder is where a module is in Go's cache; "" if it is not there and cannot be downloaded.
func moduleFolder(module string) string {
	cmd := exec.Command("go", "mod", "download", "-json", module)
	cmd.Dir = os.TempDir()
	out, _ := cmd.Output()
	var found struct{ Dir string }
	_ = json.Unmarshal(bytes.TrimSpace(out), &found)
	return found.Dir
}

// toolsAtHome points tools to what they have in the real home directory: caches that are warm, and toolchains.
var toolsAtHome = sync.OnceValue(func() []string {
	home, _ := os.UserHomeDir()
	env := []string{"GOFLAGS=", "GOPROXY=off", "GOTOOLCHAIN=local", "GOWORK="}
	if out, err := exec.Command("go", "env", "GOCACHE", "GOMODCACHE").Output(); err == nil {
		paths := strings.Fields(string(out))
		env = append(env, "GOCACHE="+paths[0], "GOMODCACHE="+paths[1])
	}
	for name, folder := range map[string]string{"CARGO_HOME": ".cargo", "RUSTUP_HOME": ".rustup", "PYENV_ROOT": ".pyenv"} {
		if path := filepath.Join(home, folder); os.Getenv(name) == "" && exists(path) {
			env = append(env, name+"="+path)
		}
	}
	return env
})

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
