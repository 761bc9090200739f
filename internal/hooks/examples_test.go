package hooks

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"ralph/internal/event"
	"ralph/internal/testing/check"
	"ralph/internal/toolcall"
)

// example is the path of a script in the folder hooks of the repository.
func example(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", "..", "docs", "hooks", name))
	check.OK(t, err)
	return path
}

func TestTheExampleThatLooksForSecrets(t *testing.T) {
	t.Parallel()
	key := "AKIA" + "ABCDEFGHIJKLMNOP"
	for name, tc := range map[string]struct{ file, text, want string }{
		"nothing":            {"a.txt", "fine\n", ""},
		"a key":              {"sub/a.txt", "one\nkey = " + key + "\n", "\nsub/a.txt:2"},
		"a private key":      {"id.pem", "-----BEGIN RSA PRIVATE " + "KEY-----\n", "\nid.pem:1"},
		"a password":         {"conf.yml", "password: \"correct horse battery\"\n", "\nconf.yml:1"},
		"one that is needed": {"conf.yml", "password: \"$DATABASE_PASSWORD_OF_TESTS\"\n", ""},
		"ignored":            {".env", "KEY=" + key + "\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			check.OK(t, exec.CommandContext(t.Context(), "git", "init", "-q", dir).Run())
			check.OK(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, tc.file)), 0o755))
			check.OK(t, os.WriteFile(filepath.Join(dir, ".gitignore"), []byte(".env\n"), 0o600))
			check.OK(t, os.WriteFile(filepath.Join(dir, tc.file), []byte(tc.text), 0o600))
			out := setIn(t, t.TempDir(), Hook{On: VerifyBefore, Run: example(t, "secrets.sh"), Must: true}).Run(t.Context(), Payload{Point: VerifyBefore, Dir: dir})
			check.Equal(t, "blocked", tc.want != "", out.Blocked())
			check.Contains(t, "reason", tc.want, out.Reason)
			check.That(t, len(out.Problems) == 0 && (tc.want == "" || len(out.Reason) < 200), "got %+v", out)
		})
	}
	out := setIn(t, t.TempDir(), Hook{On: VerifyBefore, Run: example(t, "secrets.sh"), Must: true}).Run(t.Context(), Payload{Point: VerifyBefore, Dir: "/nowhere"})
	check.That(t, out.Blocked(), "a folder that cannot be looked at is not clean: %+v", out)
}

func TestTheExampleThatChecksCommitMessages(t *testing.T) {
	t.Parallel()
	s := setIn(t, t.TempDir(), Hook{On: ToolBefore, Match: "execute:git commit*", Run: example(t, "commit-message.sh")})
	for command, denied := range map[string]bool{
		`git commit -m "fix: the parser"`:            false,
		`git commit -am 'feat(cli)!: drop a flag'`:   false,
		`git commit --message="docs: say it"`:        false,
		`git add -A && git commit -m "the parser"`:   true,
		`git commit -am wip`:                         true,
		`git commit -F message.txt`:                  false,
		`git log -m`:                                 false,
		`git commit -q -m "fixes: almost that form"`: true,
	} {
		out := s.Run(t.Context(), Payload{Point: ToolBefore, Tool: &Tool{Call: toolcall.Call{Kind: "execute", Command: command}}})
		check.Equal(t, command, denied, out.Blocked())
		if denied {
			check.Contains(t, "reason", "The type is one of build chore ci docs feat fix", out.Reason)
		}
		check.Equal(t, "problems", "", problems(out))
	}
}

func TestTheExampleThatNotifies(t *testing.T) {
	t.Parallel()
	failed := event.Event{Type: event.AttemptEnded, Status: event.TaskFailed, Task: "t-1", Reason: "a gate is red"}
	for tool, want := range map[string]string{
		"notify-send": "<--app-name=ralph>\n<-->\n<ralph: task.failed t-1>\n<a gate is red>\n",
		"ps":          "\a", // there is no desktop, and this says where the terminal is
	} {
		t.Run(tool, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for _, name := range []string{"sh", "tr"} {
				path, err := exec.LookPath(name)
				check.OK(t, err)
				check.OK(t, os.Symlink(path, filepath.Join(dir, name)))
			}
			said := filepath.Join(dir, "said")
			script := "#!/bin/sh\nfor a; do echo \"<$a>\"; done > " + said + "\n"
			if tool == "ps" {
				script = "#!/bin/sh\ncase $2 in tty=) [ $4 = 7 ] && echo ../" + said + " || echo '?' ;; *) echo 7 ;; esac\n"
			}
			check.OK(t, os.WriteFile(filepath.Join(dir, tool), []byte(script), 0o700))
			s, err := New(Options{Hooks: []Hook{{On: TaskFailed, Run: example(t, "desktop.sh")}}, Dir: dir, Env: []string{"PATH=" + dir}})
			check.OK(t, err)
			o := s.Observe(nil)
			o.Event(failed)
			check.OK(t, o.Close())
			got, err := os.ReadFile(said)
			check.That(t, err == nil && string(got) == want, "got %q, %v, want %q", got, err, want)
		})
	}
}
