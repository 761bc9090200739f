package sandbox

import (
	"bufio"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"ralph/internal/proc"
	"ralph/internal/testing/check"
)

// TestCachesHaveLayers: processes of one place find what its others wrote, also while those run, and the cache stays as it was.
func TestCachesHaveLayers(t *testing.T) {
	t.Parallel()
	need(t, Namespaces)
	w := newWorld(t)
	p := w.profile(Namespaces, Work)
	cache, landed := w.Base+"/cache", w.Base+"/landed"
	p.Layered, p.Layers = []string{cache}, Layers{Own: w.Base + "/own", Landed: landed}
	must(os.MkdirAll(landed+"/"+layerOf(cache), 0o755))
	must(os.WriteFile(landed+"/"+layerOf(cache)+"/landed", []byte("landed"), 0o644))
	must(os.Mkdir(cache, 0o755))
	must(os.WriteFile(cache+"/mine", []byte("mine"), 0o644))
	must(unix.Mkfifo(w.Project+"/end", 0o600))
	wants := func(script, want string) {
		t.Helper()
		out, exit := run(t, p, nil, "sh", "-ec", script)
		check.That(t, exit.Ok() && out == want, "%s: %v: %s", script, exit, out)
	}

	data, err := p.Encode()
	check.OK(t, err)
	r, out, err := os.Pipe()
	check.OK(t, err)
	defer r.Close()
	agent, err := proc.Start(proc.Spec{
		Argv: []string{"sh", "-ec", "echo a >../cache/a; echo ready; cat end; cat ../cache/mine"}, Dir: w.Project, Env: os.Environ(), Confine: data, Stdout: out, Stderr: out,
	})
	check.OK(t, err)
	out.Close()
	said := bufio.NewReader(r)
	line, err := said.ReadString('\n')
	check.OK(t, err)
	check.Equal(t, "what the agent says", "ready\n", line)
	wants("cat ../cache/a ../cache/landed; echo b >../cache/b; rm ../cache/mine", "a\nlanded")
	must(os.WriteFile(w.Project+"/end", nil, 0o600))
	exit, err := agent.Wait()
	check.That(t, err == nil && exit.Ok(), "agent: %v %v", exit, err)
	wants("cat ../cache/a ../cache/b; mkdir ../cache/d; echo e >../cache/d/e; mv ../cache/d ../cache/f; cat ../cache/f/e; echo x >../cache/landed", "a\nb\ne")
	wants("cd ../cache; echo *; cat landed", "a b f landed\nx")
	for dir, want := range map[string]string{cache: "mine", landed + "/" + layerOf(cache): "landed"} {
		entries, err := os.ReadDir(dir)
		check.That(t, err == nil && len(entries) == 1 && entries[0].Name() == want, "%s: %v %v", dir, entries, err)
		text, err := os.ReadFile(dir + "/" + want)
		check.That(t, err == nil && string(text) == want, "%s in %s: %q %v", want, dir, text, err)
	}
}
