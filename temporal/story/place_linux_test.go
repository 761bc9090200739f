package story

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
)

// bin is where TestMain builds the programs.
var bin string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "ralph-story-bin-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		bin = dir
		for name, from := range map[string]string{"ralph": "../../cmd/ralph", "ralph-temporal": "..", "fakeralph": "fakeralph"} {
			if err := build(name, from); err != nil {
				fmt.Fprintln(os.Stderr, err)
				return 1
			}
		}
		return m.Run()
	}())
}

// build builds a program in the module that it is of.
func build(name, from string) error {
	cmd := exec.Command("go", "build", "-o", filepath.Join(bin, name), ".")
	cmd.Dir = from
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", name, err, out)
	}
	return nil
}

// place is a server, a home with a project, a remote, and workers. The folder stands in the environment of every process.
type place struct {
	t       *testing.T
	dir     string
	home    string
	remote  string // as git reaches it
	address string
	server  *process
	dialed  client.Client
}

// newPlace makes a home and a remote. The configuration is committed, so that workers have it, too.
func newPlace(t *testing.T, config ...string) *place {
	t.Helper()
	dir, err := os.MkdirTemp("", "ralph-story-") //nolint:usetesting // short, as sockets are in it, and it can be kept
	check(t, err)
	p := &place{t: t, dir: dir, home: filepath.Join(dir, "home", "project"), remote: filepath.Join(dir, "remote.git"), address: freeAddress(t, "127.0.0.1")}
	t.Cleanup(p.close)
	p.git(dir, "init", "-q", "--bare", "-b", "main", p.remote)
	p.git(dir, "init", "-q", "-b", "main", p.home)
	p.must(p.command(p.home, "ralph", "init"))
	p.configure(config...)
	p.git(p.home, "remote", "add", "origin", p.remote)
	p.git(p.home, "push", "-q", "-u", "origin", "main")
	return p
}

// configure commits a configuration. A heartbeat of seconds lets the tests be about what happens after it.
func (p *place) configure(config ...string) {
	p.t.Helper()
	text := strings.Join(append([]string{"[temporal]", fmt.Sprintf("address = %q", p.address), `heartbeat = "3s"`}, config...), "\n") + "\n"
	check(p.t, os.WriteFile(filepath.Join(p.home, ".ralph.toml"), []byte(text), 0o600))
	p.git(p.home, "add", "-A")
	p.git(p.home, "commit", "-q", "-m", "Configure")
}

func freeAddress(t *testing.T, host string) string {
	t.Helper()
	l, err := net.Listen("tcp", host+":0")
	check(t, err)
	defer l.Close()
	return l.Addr().String()
}

func (p *place) close() {
	for _, pid := range p.processes() {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	if p.t.Failed() {
		logs, _ := filepath.Glob(filepath.Join(p.dir, "*.log"))
		for _, log := range logs {
			data, _ := os.ReadFile(log)
			p.t.Logf("%s ends with:\n%s", filepath.Base(log), data[max(0, len(data)-4000):])
		}
		if os.Getenv("RALPH_STORY_KEEP") != "" {
			p.t.Logf("kept in %s", p.dir)
			return
		}
	}
	awaitFor(p.t, time.Minute, "the processes to end", func() bool { return len(p.processes()) == 0 })
	check(p.t, os.RemoveAll(p.dir))
}

// command is a program in a folder. Home and worker each have a HOME of their own, beside the project.
func (p *place) command(dir, name string, args ...string) *exec.Cmd {
	if built := filepath.Join(bin, name); !strings.Contains(name, "/") && exists(built) {
		name = built
	}
	cmd := exec.Command(name, args...)
	home := filepath.Dir(dir)
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "XDG_STATE_HOME=" + filepath.Join(home, "state"), "TMPDIR=" + p.dir, "RALPH_STORY=" + p.dir,
		"RALPH_SANDBOX_MODE=off", "NO_COLOR=1",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=story", "GIT_AUTHOR_EMAIL=story@example.com", "GIT_COMMITTER_NAME=story", "GIT_COMMITTER_EMAIL=story@example.com",
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // no terminal
	return cmd
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// must runs a command that has to succeed.
func (p *place) must(cmd *exec.Cmd) string {
	p.t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		p.t.Fatalf("%s: %v\n%s%s", strings.Join(cmd.Args, " "), err, stdout.String(), stderr.String())
	}
	return stdout.String()
}

func (p *place) git(dir string, args ...string) string {
	p.t.Helper()
	return strings.TrimSpace(p.must(p.command(dir, "git", args...)))
}

func (p *place) ralph(args ...string) string {
	p.t.Helper()
	return p.must(p.command(p.home, "ralph", args...))
}

// process is one that was started. Its output is appended to a file, so that one that takes its place goes on with it.
type process struct {
	*exec.Cmd
	log  string
	from int64 // where its own output begins
	done chan struct{}
}

func (p *place) start(name string, cmd *exec.Cmd) *process {
	p.t.Helper()
	s := &process{Cmd: cmd, log: filepath.Join(p.dir, name+".log"), done: make(chan struct{})}
	f, err := os.OpenFile(s.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	check(p.t, err)
	defer f.Close()
	info, err := f.Stat()
	check(p.t, err)
	s.from = info.Size()
	cmd.Stdout, cmd.Stderr = f, f
	check(p.t, cmd.Start())
	go func() {
		defer close(s.done)
		_ = cmd.Wait()
	}()
	return s
}

func (s *process) output() string {
	data, _ := os.ReadFile(s.log)
	return string(data[min(int64(len(data)), s.from):])
}

func (s *process) ended() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

// status is the exit status, once it has ended; 128 and the signal if one killed it.
func (s *process) status() int {
	<-s.done
	if w := s.ProcessState.Sys().(syscall.WaitStatus); w.Signaled() {
		return 128 + int(w.Signal())
	}
	return s.ProcessState.ExitCode()
}

func (s *process) kill() {
	_ = s.Process.Kill()
	<-s.done
}

// expect waits for the end and for what it says then.
func (p *place) expect(s *process, status int, within time.Duration) {
	p.t.Helper()
	for deadline := time.Now().Add(within); !s.ended(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			_ = s.Process.Signal(syscall.SIGQUIT) // it says where it is
			awaitFor(p.t, time.Minute, "the stacks", s.ended)
			p.t.Fatalf("%s did not end within %v:\n%s", filepath.Base(s.Path), within, s.output())
		}
	}
	if s.status() != status {
		p.t.Fatalf("%s ended with status %d, not %d:\n%s", filepath.Base(s.Path), s.status(), status, s.output())
	}
}

// serve starts the server, or starts it again.
func (p *place) serve() {
	p.t.Helper()
	path := cmp.Or(os.Getenv("TEMPORAL"), "temporal")
	if _, err := exec.LookPath(path); err != nil {
		if home, _ := os.UserHomeDir(); exists(filepath.Join(home, "go/bin/temporal")) {
			path = filepath.Join(home, "go/bin/temporal")
		} else {
			p.t.Fatal("there is no program temporal; get it with: go install github.com/temporalio/cli/cmd/temporal@v1.5.1")
		}
	}
	ip, port, _ := net.SplitHostPort(p.address)
	if ip != "127.0.0.1" {
		ip = "0.0.0.0" // parts of the server reach each other by loopback
	}
	p.server = p.start("server", p.command(p.dir, path, "server", "start-dev", "--headless", "--ip", ip, "--port", port,
		"--db-filename", filepath.Join(p.dir, "server.db"), "--log-level", "error"))
	awaitFor(p.t, 2*time.Minute, "the server", func() bool {
		if p.server.ended() {
			p.t.Fatalf("the server ended:\n%s", p.server.output())
		}
		c, err := client.Dial(client.Options{HostPort: p.address, Logger: quiet{}})
		if err != nil {
			return false
		}
		defer c.Close()
		_, err = c.WorkflowService().DescribeNamespace(context.Background(), &workflowservice.DescribeNamespaceRequest{Namespace: client.DefaultNamespace})
		return err == nil
	})
}

func (p *place) client() client.Client {
	p.t.Helper()
	if p.dialed != nil {
		return p.dialed
	}
	c, err := client.Dial(client.Options{HostPort: p.address, Logger: quiet{}})
	check(p.t, err)
	p.t.Cleanup(c.Close)
	p.dialed = c
	return c
}

type quiet struct{}

func (quiet) Debug(string, ...any) {}
func (quiet) Info(string, ...any)  {}
func (quiet) Warn(string, ...any)  {}
func (quiet) Error(string, ...any) {}

// clone is a worker's own clone, as on a machine of its own.
func (p *place) clone(name string) string {
	p.t.Helper()
	dir := filepath.Join(p.dir, name, "project")
	if !exists(dir) {
		p.git(p.dir, "clone", "-q", p.remote, dir)
	}
	return dir
}

func (p *place) workerCommand(name string, slots int) *exec.Cmd {
	return p.command(p.clone(name), "ralph-temporal", "worker", "--queue", "ralph", "--slots", strconv.Itoa(slots))
}

func (p *place) worker(name string, slots int) *process {
	p.t.Helper()
	return p.start(name, p.workerCommand(name, slots))
}

func (p *place) run(args ...string) *process {
	p.t.Helper()
	return p.start("run", p.command(p.home, "ralph-temporal", append([]string{"run"}, args...)...))
}

// processes are those that belong to this place: it stands in their environment.
func (p *place) processes() (list []int) {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		environ, _ := os.ReadFile(filepath.Join(dir, "environ"))
		cwd, _ := os.Readlink(filepath.Join(dir, "cwd"))
		if pid != os.Getpid() && (bytes.Contains(environ, []byte(p.dir)) || strings.HasPrefix(cwd, p.dir)) {
			list = append(list, pid)
		}
	}
	return list
}

// of are the processes of one worker, or of home: each has a HOME of its own.
func (p *place) of(name string) (list []int) {
	for _, pid := range p.processes() {
		environ, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if bytes.Contains(environ, []byte("HOME="+filepath.Join(p.dir, name)+"\x00")) {
			list = append(list, pid)
		}
	}
	return list
}

func commandLine(pid int) string {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return strings.TrimSpace(strings.ReplaceAll(string(data), "\x00", " "))
}

// noneBut waits until only these processes are left.
func (p *place) noneBut(kept ...*process) {
	p.t.Helper()
	left := func() (list []string) {
		for _, pid := range p.processes() {
			if !slices.ContainsFunc(kept, func(s *process) bool { return s.Process.Pid == pid }) {
				list = append(list, fmt.Sprintf("%d %s", pid, commandLine(pid)))
			}
		}
		return list
	}
	deadline := time.Now().Add(time.Minute)
	for list := left(); len(list) > 0; list = left() {
		if time.Now().After(deadline) {
			p.t.Fatalf("processes are left:\n%s", strings.Join(list, "\n"))
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	awaitFor(t, 2*time.Minute, what, ok)
}

func awaitFor(t *testing.T, patience time.Duration, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited %v in vain for %s", patience, what)
		}
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func equal[T any](t *testing.T, what string, want, got T) {
	t.Helper()
	w, err := json.MarshalIndent(want, "", " ")
	check(t, err)
	g, err := json.MarshalIndent(got, "", " ")
	check(t, err)
	if !bytes.Equal(w, g) {
		t.Errorf("%s: want\n%s\ngot\n%s", what, w, g)
	}
}

// number is a number in the environment, for longer and shorter versions of a test.
func number(t *testing.T, name string, def int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return def
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatal(errors.Join(fmt.Errorf("%s=%s is no number", name, text), err))
	}
	return n
}
