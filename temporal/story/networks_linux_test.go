package story

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestTwoMachines has two workers in network namespaces of their own, which reach nothing but the address on which the server
// and the git daemon of the remote listen. Code travels by git only, and everything else by the server.
func TestTwoMachines(t *testing.T) {
	const tasks, bridge = 12, "ralphstory0"
	if os.Geteuid() != 0 {
		t.Skip("NOT TRIED: network namespaces need root")
	}
	ip := func(args ...string) error {
		if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
			return fmt.Errorf("ip %s: %w: %s", strings.Join(args, " "), err, out)
		}
		return nil
	}
	names := []string{"ralphstory1", "ralphstory2"}
	remove := func() {
		for _, name := range names {
			_ = ip("netns", "del", name)
		}
		_ = ip("link", "del", bridge)
	}
	remove()
	if err := ip("link", "add", bridge, "type", "bridge"); err != nil {
		t.Skipf("NOT TRIED: %v", err)
	}
	t.Cleanup(remove)
	check(t, ip("addr", "add", "10.213.7.1/24", "dev", bridge))
	check(t, ip("link", "set", bridge, "up"))
	for i, name := range names {
		if err := ip("netns", "add", name); err != nil {
			t.Skipf("NOT TRIED: %v", err)
		}
		near, far := fmt.Sprintf("ralphst%da", i), fmt.Sprintf("ralphst%db", i)
		check(t, ip("link", "add", near, "type", "veth", "peer", "name", far, "netns", name))
		check(t, ip("link", "set", near, "master", bridge, "up"))
		check(t, ip("-n", name, "addr", "add", fmt.Sprintf("10.213.7.%d/24", i+2), "dev", far))
		check(t, ip("-n", name, "link", "set", far, "up"))
	}

	local, p := newPlace(t), newPlace(t)
	for _, p := range []*place{local, p} {
		p.plan(chains(tasks, 100*time.Millisecond))
	}
	local.ralph("run", "--agent", "shell", "--jobs", "4")
	p.address = freeAddress(t, "10.213.7.1")
	p.serve()
	git := freeAddress(t, "10.213.7.1")
	host, port, _ := net.SplitHostPort(git)
	daemon := p.start("git-daemon", p.command(p.dir, "git", "daemon", "--reuseaddr", "--export-all", "--enable=receive-pack", "--base-path="+p.dir, "--listen="+host, "--port="+port))
	p.remote = "git://" + git + "/remote.git"
	p.git(p.home, "remote", "set-url", "origin", p.remote)
	p.configure()
	await(t, "the git daemon", func() bool {
		c, err := net.Dial("tcp", git)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	p.git(p.home, "push", "-q")
	var workers []*process
	for _, name := range names {
		cmd := p.workerCommand(name, 2)
		inside := p.command(cmd.Dir, "ip", append([]string{"netns", "exec", name}, cmd.Args...)...)
		workers = append(workers, p.start(name, inside))
	}
	run := p.run("--agent", "shell", "--jobs", "4")
	p.expect(run, 0, 5*time.Minute)
	p.settledWell(tasks)
	want, got := local.result(), p.result()
	equal(t, "the result", want, got)
	for i, w := range workers {
		route, err := exec.Command("ip", "-n", names[i], "route").Output()
		check(t, err)
		if n := attemptsOf(w); n == 0 || strings.Contains(string(route), "default") {
			t.Errorf("%s made %d attempts, with the routes %s", names[i], n, route)
		} else {
			t.Logf("%s made %d attempts; its only route: %s", filepath.Base(w.log), n, strings.TrimSpace(string(route)))
		}
		check(t, w.Process.Signal(os.Interrupt))
		p.expect(w, 0, time.Minute)
	}
	check(t, syscall.Kill(-daemon.Process.Pid, syscall.SIGKILL)) // git, and the daemon that it started
	p.noneBut(p.server)
}
