package forge_test

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"ralph/internal/forge"
	"ralph/internal/proc"
	"ralph/internal/testing/check"
)

// TestMain lets this binary be gh, glab and a command of the user's: it replays answers.
func TestMain(m *testing.M) {
	proc.RunHelper(nil)
	_ = os.Setenv("GORACE", "atexit_sleep_ms=0") // or every program that ends would wait for a second
	if name := strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe"); slices.Contains([]string{"gh", "glab", "mine"}, name) {
		os.Exit(replay(os.Getenv("REPLAY")))
	}
	os.Exit(m.Run())
}

// answer is what a program says when it is called with arguments that contain a text.
type answer struct {
	To     string `json:"to"`
	Stdout string `json:"stdout"`
	Stderr string `json:"stderr"`
	Exit   int    `json:"exit"`
	Hangs  bool   `json:"hangs"`
}

// call is what a program was called with.
type call struct {
	Args  string
	Stdin string
	Env   []string
}

func replay(dir string) int {
	data, err := os.ReadFile(filepath.Join(dir, "answers.json"))
	var answers []answer
	if err == nil {
		err = json.Unmarshal(data, &answers)
	}
	in, rerr := io.ReadAll(os.Stdin)
	args := strings.Join(os.Args[1:], " ")
	env := slices.DeleteFunc(os.Environ(), func(v string) bool { return !strings.HasPrefix(v, "GH_") })
	line, merr := json.Marshal(call{args, string(in), env})
	log, oerr := os.OpenFile(filepath.Join(dir, "calls"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil || rerr != nil || merr != nil || oerr != nil {
		fmt.Fprintln(os.Stderr, "replay:", err, rerr, merr, oerr)
		return 99
	}
	fmt.Fprintln(log, string(line))
	for _, a := range answers {
		if !strings.Contains(args, a.To) {
			continue
		}
		if a.Hangs {
			forever := make(chan os.Signal, 1)
			signal.Notify(forever, os.Interrupt)
			<-forever
		}
		fmt.Fprint(os.Stdout, a.Stdout)
		fmt.Fprint(os.Stderr, a.Stderr)
		return a.Exit
	}
	fmt.Fprintln(os.Stderr, "replay: no answer to", args)
	return 98
}

// standIn is a forge whose program replays answers.
type standIn struct {
	forge.Forge
	t   *testing.T
	dir string
}

func newStandIn(t *testing.T, kind string, timeout time.Duration, answers ...answer) standIn {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("programs are links to this one")
	}
	dir := t.TempDir()
	self, err := os.Executable()
	check.OK(t, err)
	data, err := json.Marshal(answers)
	check.OK(t, err)
	check.OK(t, os.WriteFile(filepath.Join(dir, "answers.json"), data, 0o600))
	name := map[string]string{forge.Own: "mine"}[kind]
	if name == "" {
		name = kind
	}
	check.OK(t, os.Symlink(self, filepath.Join(dir, name)))
	home := forge.HomeOf("git@example.com:acme/tools/app.git")
	if kind == forge.GitHub {
		home = forge.HomeOf("https://github.com/acme/app.git")
	}
	f, err := forge.New(kind, name+" --for me", forge.Options{Dir: dir, Env: append(os.Environ(), "PATH="+dir, "REPLAY="+dir), Timeout: timeout, Home: home})
	check.OK(t, err)
	return standIn{f, t, dir}
}

// calls are what the program was called with.
func (s standIn) calls() (list []call) {
	s.t.Helper()
	data, err := os.ReadFile(filepath.Join(s.dir, "calls"))
	check.OK(s.t, err)
	for line := range strings.Lines(string(data)) {
		var c call
		check.OK(s.t, json.Unmarshal([]byte(line), &c))
		list = append(list, c)
	}
	return list
}

// args are the arguments of all calls.
func (s standIn) args() (list []string) {
	for _, c := range s.calls() {
		list = append(list, c.Args)
	}
	return list
}
