//go:build linux

package sandbox

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"ralph/internal/testing/check"
)

// baseEnv names the folder that a test run as another user works in.
const baseEnv = "SANDBOX_TEST_BASE"

const baseName = "ralph-sandbox-test"

const worldEnv = "SANDBOX_TEST_WORLD"

// worlds counts them, for what must have a number of its own.
var worlds atomic.Int32

// world is a project and what lies around it, as an attacker knows it.
type world struct {
	Base, Outside, Project, Temp, Hidden string
	Victim                               int    // a process outside, of the same user, in Outside
	Abstract, Socket                     string // sockets that somebody outside listens on
	Shared                               int    // key of shared memory outside
	Terminal                             string // that of a person outside
	Mounts                               string // the mount namespace outside
	Level                                Level

	victim *victim
	calls  *atomic.Int32 // connections that came in from inside
}

// newBase makes a folder outside /tmp, which would be private inside anyway.
func newBase(t testing.TB, owner int) string {
	t.Helper()
	parent := "/var/lib"
	if os.Getuid() != 0 {
		parent = ""
	}
	base, err := os.MkdirTemp(parent, baseName) //nolint:usetesting // not in /tmp
	check.OK(t, err)
	t.Cleanup(func() { RemoveAll(base) })
	if os.Getuid() == 0 {
		raw, err := os.ReadFile("/proc/self/exe")
		check.OK(t, err)
		must(os.WriteFile(base+"/setuid", raw, 0o755))
		must(os.Chmod(base+"/setuid", os.ModeSetuid|0o755))
		if err := os.Chown(base, owner, owner); err != nil {
			t.Skipf("there is no user %d here: %v", owner, err)
		}
	}
	return base
}

func newWorld(t testing.TB) *world {
	t.Helper()
	base := os.Getenv(baseEnv)
	if base == "" {
		base = newBase(t, os.Getuid())
	}
	base, err := os.MkdirTemp(base, "world") //nolint:usetesting // not in /tmp
	check.OK(t, err)
	w := &world{
		Base: base, Outside: base + "/outside", Project: base + "/project", Temp: base + "/temp", Hidden: base + "/hidden",
		Abstract: "@" + base, Shared: os.Getpid()<<8 | int(worlds.Add(1)), calls: new(atomic.Int32),
	}
	fill(t, base, map[string]string{
		"outside/file": "outside", "outside/dir/file": "outside", "hidden/key": "secret",
		"project/file": "project", "project/.ralph/state": "state", "project/.ralph.toml": "config",
		"project/.git/config": "[core]", "project/.git/HEAD": "ref: refs/heads/main", "project/.git/hooks/pre-push": "#!/bin/sh",
		"project/.git/index": "index", "temp/.keep": "",
		"project/inside/.git/config": "[core]", "project/inside/.git/HEAD": "ref: refs/heads/main", "project/inside/.git/hooks/pre-push": "#!/bin/sh",
	})
	w.Mounts, err = os.Readlink("/proc/self/ns/mnt")
	must(err)
	w.listen(t)
	shared, err := unix.SysvShmGet(w.Shared, 4096, unix.IPC_CREAT|0o600)
	must(err)
	t.Cleanup(func() { unix.SysvShmCtl(shared, unix.IPC_RMID, nil) })
	w.startVictim(t)
	w.openTerminal(t)
	return w
}

func (w *world) openTerminal(t testing.TB) {
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	must(err)
	t.Cleanup(func() { person.Close() })
	must(unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(person.Fd()), unix.TIOCGPTN)
	must(err)
	w.Terminal = "/dev/pts/" + itoa(n)
}

func (w *world) listen(t testing.TB) {
	dir, err := os.MkdirTemp("/tmp", "sandbox-test") //nolint:usetesting // a socket's name is short
	check.OK(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	w.Socket = dir + "/socket"
	for _, address := range []string{w.Abstract, w.Socket} {
		l, err := net.Listen("unix", address)
		check.OK(t, err)
		t.Cleanup(func() { l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				w.calls.Add(1)
				c.Close()
			}
		}()
	}
}

// victim is a process outside that answers for as long as it lives.
type victim struct {
	in  io.Writer
	out *bufio.Reader
}

func (w *world) startVictim(t testing.TB) {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), roleEnv+"=victim")
	cmd.Dir = w.Outside
	out, err := cmd.StdoutPipe()
	must(err)
	in, err := cmd.StdinPipe()
	must(err)
	must(cmd.Start())
	t.Cleanup(func() { in.Close(); cmd.Wait() })
	w.Victim, w.victim = cmd.Process.Pid, &victim{in, bufio.NewReader(out)}
	if !w.victim.lives() {
		t.Fatal("the victim did not start")
	}
}

// lives asks it. One that was killed before does not answer any more, so that
// nobody has to wait for a death to be seen.
func (v *victim) lives() bool {
	_, _ = io.WriteString(v.in, "?\n")
	line, err := v.out.ReadString('\n')
	return err == nil && line == "!\n"
}

func (w *world) profile(level Level, mode Mode) Profile {
	return Profile{
		Level: level, Mode: mode, Project: w.Project, Temp: w.Temp, Git: []string{w.Project + "/.git"}, Protect: w.protected(), Hide: []string{w.Hidden},
	}
}

func (w *world) protected() []string {
	return []string{
		w.Project + "/.ralph", w.Project + "/.ralph.toml", w.Project + "/.git/hooks", w.Project + "/.git/config",
		w.Project + "/inside/.git/hooks", w.Project + "/inside/.git/config",
	}
}

func (w *world) env() []string {
	raw, err := json.Marshal(w)
	must(err)
	return []string{worldEnv + "=" + string(raw)}
}

// look describes every file at the paths: all that a process could have changed.
func look(paths ...string) string {
	var b strings.Builder
	for _, root := range paths {
		filepath.WalkDir(root, func(path string, _ os.DirEntry, _ error) error {
			var st unix.Stat_t
			if err := unix.Lstat(path, &st); err != nil {
				fmt.Fprintln(&b, path, err)
				return nil
			}
			text := ""
			if st.Mode&unix.S_IFMT == unix.S_IFREG {
				raw, _ := os.ReadFile(path)
				text = string(raw)
			}
			flags := 0
			if fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0); err == nil {
				flags, _ = unix.IoctlGetInt(fd, unix.FS_IOC_GETFLAGS)
				unix.Close(fd)
			}
			attrs := make([]byte, 256)
			n, _ := unix.Llistxattr(path, attrs)
			fmt.Fprintf(&b, "%s %o %d:%d links %d mtime %d.%09d flags %x attrs %q text %q\n", path, st.Mode, st.Uid, st.Gid, st.Nlink,
				st.Mtim.Sec, st.Mtim.Nsec, flags, attrs[:max(n, 0)], text)
			return nil
		})
	}
	return b.String()
}

// play is the test binary being something other than an attacker.
func play(role string) {
	switch role {
	case "victim":
		// A signal that nobody else minds, sent to everybody.
		signals := make(chan os.Signal, 1)
		signal.Notify(signals, unix.SIGWINCH)
		questions := make(chan string)
		go func() {
			defer close(questions)
			for in := bufio.NewScanner(os.Stdin); in.Scan(); {
				questions <- in.Text()
			}
		}()
		for {
			select {
			case <-signals:
				os.Exit(1)
			case _, open := <-questions:
				if !open {
					return
				}
				select {
				case <-signals:
					os.Exit(1)
				default:
				}
				fmt.Println("!")
			}
		}
	case "starter":
		var w world
		must(json.Unmarshal([]byte(os.Getenv(worldEnv)), &w))
		startForest(&w)
	case "vanish":
		attachWhatVanished(os.Args[1])
	case "whoami":
		fmt.Println(os.Geteuid())
	}
}
