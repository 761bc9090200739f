package story

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestClocks has two workers whose clocks are minutes ahead and behind. Nothing comes of it. A Go program asks no library for
// the time, so those of the workers are compiled with a time.Now that adds what STORY_SKEW says.
func TestClocks(t *testing.T) {
	const tasks = 12
	p := newPlace(t)
	skewed := p.skewed()
	p.plan(chains(tasks, 50*time.Millisecond))
	p.serve()
	var workers []*process
	for name, skew := range map[string]string{"ahead": "420", "behind": "-420"} {
		cmd := p.workerCommand(name, 2)
		cmd.Path = filepath.Join(skewed, "ralph-temporal")
		cmd.Args[0] = cmd.Path
		cmd.Env = append(cmd.Env, "STORY_SKEW="+skew)
		workers = append(workers, p.start(name, cmd))
	}
	p.expect(p.run("--agent", "shell", "--jobs", "4"), 0, 5*time.Minute)
	p.settledWell(tasks)
	for _, w := range workers {
		if attemptsOf(w) == 0 {
			t.Errorf("%s made no attempt", w.log)
		}
		t.Logf("%s made %d attempts", filepath.Base(w.log), attemptsOf(w))
	}
	p.noneBut(append(workers, p.server)...)
}

// skewed builds the programs with another clock.
func (p *place) skewed() string {
	p.t.Helper()
	dir := filepath.Join(p.dir, "skewed")
	check(p.t, os.MkdirAll(dir, 0o700))
	root, err := exec.Command("go", "env", "GOROOT").Output()
	check(p.t, err)
	source := filepath.Join(strings.TrimSpace(string(root)), "src", "time")
	const now = "sec, nsec, mono := runtimeNow()\n"
	text := readAll(filepath.Join(source, "time.go"))
	if strings.Count(text, now) != 1 {
		p.t.Skip("NOT TRIED: time.Now of this Go is not known")
	}
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		check(p.t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {
		filepath.Join(source, "time.go"): write("time.go", strings.Replace(text, now, now+"\tsec += storySkew\n", 1)),
		filepath.Join(source, "story_skew.go"): write("story_skew.go", `package time

import "syscall"

var storySkew = func() (n int64) {
	text, _ := syscall.Getenv("STORY_SKEW")
	sign := int64(1)
	for _, c := range text {
		if c == '-' {
			sign = -1
			continue
		}
		n = n*10 + int64(c-'0')
	}
	return sign * n
}()
`),
	}})
	check(p.t, err)
	file := write("overlay.json", string(overlay))
	for name, from := range map[string]string{"ralph": "../../cmd/ralph", "ralph-temporal": ".."} {
		cmd := exec.Command("go", "build", "-overlay", file, "-o", filepath.Join(dir, name), ".")
		cmd.Dir = from
		if out, err := cmd.CombinedOutput(); err != nil {
			p.t.Fatalf("build %s: %v\n%s", name, err, out)
		}
	}
	return dir
}
