package main

import (
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"ralph/internal/cli"
	"ralph/internal/proc"
	"ralph/internal/sandbox"
	"ralph/internal/testing/fakeagent"
	"ralph/internal/testing/golden"
)

func TestMain(m *testing.M) {
	proc.RunHelper(sandbox.Confine)
	testscript.Main(cleaning{m}, programs)
}

// programs are those that this binary can be.
var programs = map[string]func(){"ralph": limitedMain, "fakeagent": fakeagent.Main, "fetch": fetch, "gh": ghStandIn}

// fetch prints what addresses answer, through the proxy that its environment names, also those of this machine.
func fetch() {
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	if at := os.Getenv("HTTPS_PROXY"); at != "" {
		proxy, err := url.Parse(at)
		if err != nil || os.Getenv("http_proxy") != at || os.Getenv("NO_PROXY") != "localhost,127.0.0.1,::1" {
			fmt.Println("a strange environment:", os.Environ())
			return
		}
		transport.Proxy = http.ProxyURL(proxy)
	}
	for _, address := range os.Args[1:] {
		res, err := (&http.Client{Transport: transport}).Get(address)
		if err != nil {
			fmt.Println("error:", err)
			continue
		}
		body, err := io.ReadAll(res.Body)
		fmt.Println(res.StatusCode, strings.TrimSpace(string(body)), err)
	}
}

// confinableEnv names the best sandbox that the program under test may use, so that
// a machine that has a better one can show what a worse one does.
const confinableEnv = "TEST_CONFINABLE"

// limitedMain is main, but for that.
func limitedMain() {
	proc.RunHelper(sandbox.Confine)
	sys := fromOS()
	if name, ok := os.LookupEnv(confinableEnv); ok {
		sys.Confinable = levelNames[name]
	}
	sys.Models = func(environ []string) (cli.Served, bool) { // whatever else answers on this machine is no business of a test
		if proc.Getenv(environ, "OLLAMA_HOST") == "" && proc.Getenv(environ, "OPENAI_BASE_URL") == "" {
			return cli.Served{}, false
		}
		return lookForModels(environ)
	}
	os.Exit(run(os.Args, sys))
}

// scriptCondition says whether this machine has a level: [namespaces], [landlock].
func scriptCondition(name string) (bool, error) {
	level, known := levelNames[name]
	if !known {
		return false, fmt.Errorf("unknown condition %s", name)
	}
	if name, ok := os.LookupEnv(confinableEnv); ok && levelNames[name] < level {
		return false, nil
	}
	found := detected[level]()
	if _, said := saidSkipped.LoadOrStore(name, true); found.Level != level && !said {
		fmt.Fprintf(os.Stderr, "SKIPPED: what needs %s: %s\n", name, strings.Join(found.Reasons, "; "))
	}
	return found.Level == level, nil
}

// detected are the levels that were looked for: that takes processes, and scripts ask in every other line.
var detected = map[sandbox.Level]func() sandbox.Report{
	sandbox.None:       sync.OnceValue(func() sandbox.Report { return sandbox.Detect(sandbox.None) }),
	sandbox.Landlock:   sync.OnceValue(func() sandbox.Report { return sandbox.Detect(sandbox.Landlock) }),
	sandbox.Namespaces: sync.OnceValue(func() sandbox.Report { return sandbox.Detect(sandbox.Namespaces) }),
}

// saidSkipped has the levels of which CI knows that tests skip them.
var saidSkipped sync.Map

var levelNames = map[string]sandbox.Level{"none": sandbox.None, "landlock": sandbox.Landlock, "namespaces": sandbox.Namespaces}

// cleaning removes what the tests have built.
type cleaning struct{ m *testing.M }

func (c cleaning) Run() int {
	defer os.RemoveAll(builds)
	flag.Parse()
	if err := leaveOutLong(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return c.m.Run()
}

// longTests are the tests that take minutes, in lines of a subject and a pattern. .ci/run and just run them by subject.
const longTests = ".ci/long"

// leaveOutLong skips the long tests unless -run or -skip chooses, so that go test ./... stays within half of go test's default limit. It also
// runs more tests in parallel than there are processors: they mostly wait for the programs that they start.
func leaveOutLong() error {
	given := map[string]bool{}
	flag.Visit(func(f *flag.Flag) { given[f.Name] = true })
	if !given["test.parallel"] {
		if err := flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0))); err != nil {
			return err
		}
	}
	if given["test.run"] || given["test.skip"] || golden.Updating() {
		return nil
	}
	text, err := os.ReadFile(filepath.Join("../..", longTests))
	if err != nil {
		return err
	}
	var patterns []string
	for line := range strings.Lines(string(text)) {
		_, pattern, _ := strings.Cut(strings.TrimSpace(line), " ")
		patterns = append(patterns, pattern)
	}
	return flag.Set("test.skip", strings.Join(patterns, "|"))
}

// builds is where programs are that the tests build.
var builds = filepath.Join(os.TempDir(), fmt.Sprintf("ralph-builds-%d", os.Getpid()))

// TestScripts runs every command as a user would, with exact exit statuses.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, scriptParams("testdata/script"))
}

func scriptParams(dir string) testscript.Params {
	return testscript.Params{
		Dir:                 dir,
		UpdateScripts:       golden.Updating(),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Condition:           scriptCondition,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status":  scriptStatus,
			"capture": scriptCapture,
			"append":  scriptAppend,
			"asks":    scriptAsks,
			"models":  scriptModels,
		},
		Setup: func(env *testscript.Env) error {
			// Its own, outside the project: what other tests kill leaves its temporary folders behind.
			temp := env.WorkDir + "-temp"
			if err := os.Mkdir(temp, 0o700); err != nil {
				return err
			}
			projects, err := filepath.Abs("testdata/projects") // that earlier versions of ralph made
			env.Setenv("PROJECTS", projects)
			env.Setenv("TMPDIR", temp)
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("XDG_STATE_HOME", temp+"/state") // or it would be part of a project whose folder is the home
			env.Setenv("GO_CACHE", goCache())           // for a script that compiles
			env.Setenv("NO_COLOR", "1")
			env.Setenv("TZ", "UTC")
			env.Setenv("RALPH_VERIFY_ENABLED", "false") // the scripts about verdicts switch it on
			env.Setenv("GORACE", "atexit_sleep_ms=0")   // the race detector holds every exiting process otherwise
			return errors.Join(err, shareLedgers(env, dir, temp+"/ledger"))
		},
	}
}

// goCache is the warm build cache of the machine: to compile the standard library anew takes minutes.
var goCache = sync.OnceValue(func() string {
	out, _ := exec.Command("go", "env", "GOCACHE").Output()
	return strings.TrimSpace(string(out))
})

// Scripts whose agents work in a repository of git, or in the folder itself; and those that say what agents may write.
var (
	withoutSlots = regexp.MustCompile(`git init|--in-place`)
	withWrite    = regexp.MustCompile(`RALPH_SANDBOX_WRITE|(?m:^write = )`)
)

// shareLedgers has agents in slots of a folder without git change a file in each attempt, and puts the ledger where they write it, too: the
// folder has a link to it.
func shareLedgers(env *testscript.Env, scripts, to string) error {
	text, err := os.ReadFile(filepath.Join(scripts, strings.TrimPrefix(filepath.Base(env.WorkDir), "script-")+".txtar"))
	if err != nil || withoutSlots.Match(text) {
		return err
	}
	for _, pattern := range []string{"ledger/.keep", "*/ledger/.keep"} {
		found, _ := filepath.Glob(filepath.Join(env.WorkDir, pattern)) // the pattern is valid
		for _, keep := range found {
			dir := filepath.Dir(keep)
			if !withWrite.Match(text) && !strings.Contains(proc.Getenv(env.Vars, "RALPH_SANDBOX_WRITE"), to) {
				env.Setenv("RALPH_SANDBOX_WRITE", to)
				err = errors.Join(err, os.RemoveAll(dir), os.Mkdir(to, 0o700), os.Symlink(to, dir))
			}
			err = errors.Join(err, os.WriteFile(filepath.Join(dir, fakeagent.Changes), nil, 0o600))
		}
	}
	return err
}

// scriptStatus runs a command and wants exactly that exit status: status 64 ralph task
func scriptStatus(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N command [args]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	err = ts.Exec(args[1], args[2:]...)
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("%s: exit status %d, want %d", strings.Join(args[1:], " "), got, want)
	}
}

// scriptCapture puts the last output into a variable: capture ID
func scriptCapture(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: capture VARIABLE")
	}
	ts.Setenv(args[0], strings.TrimSpace(ts.ReadFile("stdout")))
}

// scriptAppend adds a line to a file: append FILE TEXT
func scriptAppend(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: append FILE TEXT")
	}
	f, err := os.OpenFile(ts.MkAbs(args[0]), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	ts.Check(err)
	_, err = f.WriteString(args[1] + "\n")
	ts.Check(err)
	ts.Check(f.Close())
}
