package sandbox

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"ralph/internal/seen"
	"ralph/internal/testing/check"
)

// answering is a daemon of a person's that prints a file of the project to everybody who connects.
func answering(t *testing.T, network, address, file string) string {
	t.Helper()
	l, err := net.Listen(network, address)
	check.OK(t, err)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Read(make([]byte, 4096)) // what is left unread would cut the answer
			text, _ := os.ReadFile(file)
			fmt.Fprintf(c, "%s", text)
			c.Close()
		}
	}()
	return l.Addr().String()
}

// TestDaemonsOfThePersonDoNotAnswerForASlot that is seen at the project's path: they would say what is in the person's files. Where a slot
// has a path of its own they are asked about that.
func TestDaemonsOfThePersonDoNotAnswerForASlot(t *testing.T) {
	t.Parallel()
	need(t, Namespaces)
	for _, program := range []string{"curl", "bash"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(err)
		}
	}
	c := confinerIn(t, Namespaces, newBase(t, os.Getuid()))
	root := c.opts.Project.Root
	home, slot, view := filepath.Dir(root), filepath.Join(filepath.Dir(root), "slots", "1"), filepath.Join(filepath.Dir(root), "slots", ".project")
	fill(t, home, map[string]string{
		"slots/1/file": "slot", "slots/1/build.gradle": "", "slots/.project/.keep": "", "own/a/.keep": "",
		".cache/bazel/_bazel_me/0a1b/lock": "", ".local/state/watchman/me-state/pid": "1",
	})
	socket := filepath.Join(home, ".local/state/watchman/me-state/sock")
	short, err := os.MkdirTemp("/var/tmp", "") //nolint:usetesting // a socket's name is short
	check.OK(t, err)
	t.Cleanup(func() { os.RemoveAll(short) })
	answering(t, "unix", filepath.Join(short, "s"), filepath.Join(root, "file"))
	check.OK(t, os.Rename(filepath.Join(short, "s"), socket))
	_, port, err := net.SplitHostPort(answering(t, "tcp", "127.0.0.1:0", filepath.Join(root, "file")))
	check.OK(t, err)
	fill(t, home, map[string]string{".gradle/daemon/8/registry.bin": port, ".cache/bazel/_bazel_me/0a1b/server/command_port": port})
	asks := func(at seen.Folder) string {
		t.Helper()
		in, err := c.In(slot, at)
		check.OK(t, err)
		x, err := in.ForWork(Process{Env: env(home), Layers: Layers{Own: filepath.Join(home, "own")}})
		check.OK(t, err)
		defer x.Close()
		return do(t, in, x, `cd ~
			unix() { curl -s --max-time 5 --http0.9 --unix-socket "$1" http://x/; }
			tcp() { bash -c 'exec 3<>/dev/tcp/127.0.0.1/$(cat "$0") && echo >&3 && cat <&3' "$1" 2>/dev/null; }
			echo $(unix .local/state/watchman/me-state/sock) $(tcp .gradle/daemon/8/registry.bin) $(tcp .cache/bazel/_bazel_me/0a1b/server/command_port)
			echo x > .gradle/daemon/own; echo x > .cache/bazel/_bazel_me/0a1b/server/own; ls .cache/bazel/_bazel_me/0a1b`)
	}
	check.Equal(t, "what answers at the project's path", "lock\nserver", asks(seen.Folder{Real: slot, Seen: root, View: view}))
	_, err = os.Lstat(filepath.Join(home, ".gradle/daemon/own"))
	check.That(t, err != nil, "a daemon of the slot is in the person's registry")
	check.Equal(t, "what answers elsewhere", "file file file\nlock\nserver", asks(seen.Folder{}))
}
