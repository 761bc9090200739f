package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	starts      = 4               // how often a person types what gets a contestant going, in one plan
	patience    = 4 * time.Minute // with one start
	callsPerJob = 3               // look, do, say
)

// race is one contestant with one plan, in a project and a home of its own.
type race struct {
	contestant
	plan      plan
	model     *model
	dir, home string // the home is in the environment of each of its processes, by which they are found
	env       []string
	out       *os.File
	grace     time.Duration // for the processes of a contestant that was killed
}

// score is what came of a race, or of several.
type score struct {
	falseDone, notDone, lost, survivors, wasted, checks, actions int
	killed                                                       bool // else there was nothing to survive
}

// newRace sets a contestant up. Bin is a PATH of its programs.
func newRace(c contestant, p plan, bin, dir string) (*race, error) {
	r := &race{
		contestant: c, plan: p, model: newModel(p), dir: filepath.Join(dir, "project"), home: filepath.Join(dir, "home"), grace: 5 * time.Second,
	}
	r.env = []string{
		"PATH=" + bin + string(os.PathListSeparator) + os.Getenv("PATH"), "HOME=" + r.home, "TMPDIR=" + filepath.Join(dir, "tmp"),
		"LANG=C.UTF-8", "NO_COLOR=1", "IS_SANDBOX=1", "ANTHROPIC_BASE_URL=" + r.model.URL, "ANTHROPIC_API_KEY=sk-ant-of-the-derby",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1",
		"GIT_AUTHOR_NAME=derby", "GIT_AUTHOR_EMAIL=derby@localhost", "GIT_COMMITTER_NAME=derby", "GIT_COMMITTER_EMAIL=derby@localhost",
	}
	claude, err := filepath.EvalSymlinks(r.command("claude").Path)
	if err == nil { // for the adapter that speaks ACP, which would bring one of its own
		r.env = append(r.env, "CLAUDE_CODE_EXECUTABLE="+claude)
	}
	err = errors.Join(err, os.MkdirAll(r.dir, 0o755), os.MkdirAll(r.home, 0o755), os.MkdirAll(filepath.Join(dir, "tmp"), 0o755), p.write(r.dir))
	for name, text := range c.files(p) {
		path := filepath.Join(r.dir, name)
		if below, ok := strings.CutPrefix(name, "~"); ok {
			path = filepath.Join(r.home, below)
		}
		err = errors.Join(err, writeFile(path, text))
	}
	if err != nil {
		return nil, err
	}
	if r.out, err = os.Create(filepath.Join(dir, "output.txt")); err != nil {
		return nil, err
	}
	first := [][]string{{"git", "init", "-q", "-b", "main"}}
	for _, args := range slices.Concat(first, c.setup, [][]string{{"git", "add", "-A"}, {"git", "commit", "-qm", "begin"}, {"git", "tag", "begin"}}) {
		if err := r.run(args); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func (r *race) log(format string, args ...any) {
	fmt.Fprintln(r.out, "derby", time.Now().Format("15:04:05.000"), fmt.Sprintf(format, args...))
}

// command is a command in the project. It is found by the PATH of the race, which is not ours.
func (r *race) command(args ...string) *exec.Cmd {
	cmd := exec.Command(args[0], args[1:]...)
	for _, dir := range filepath.SplitList(strings.TrimPrefix(r.env[0], "PATH=")) {
		if info, err := os.Stat(filepath.Join(dir, args[0])); err == nil && info.Mode().IsRegular() {
			cmd.Path, cmd.Err = filepath.Join(dir, args[0]), nil
			break
		}
	}
	cmd.Dir, cmd.Env = r.dir, r.env
	return cmd
}

// run runs a command of the setup, or of a person.
func (r *race) run(args []string) error {
	out, err := r.command(args...).CombinedOutput()
	r.log("%v\n%s", args, out)
	if err != nil {
		return fmt.Errorf("%v: %w\n%s", args, err, out)
	}
	return nil
}

// finish takes the contestant to the end of its plan, with a person who types what it takes, and counts.
func (r *race) finish() (score, error) {
	defer r.close()
	var s score
	commands := [][]string{r.start}
	if r.plan.wide && r.wide != nil {
		commands = [][]string{r.wide}
	}
	for n := range starts {
		if n > 0 {
			s.actions += len(commands)
		}
		last := len(commands) - 1
		for _, args := range commands[:last] {
			if err := r.run(args); err != nil {
				r.log("%v", err)
			}
		}
		refused, err := r.drive(commands[last], &s)
		if err != nil {
			return s, err
		}
		said, err := r.said()
		if err != nil {
			return s, err
		}
		if !slices.ContainsFunc(r.plan.jobs, func(j job) bool { return !strings.Contains(said, j.title()) }) {
			break
		}
		commands = r.again
		if refused && r.refused != nil {
			commands = r.refused
		}
		r.model.wait()
	}
	return s, r.judge(&s)
}

// said has the titles of the jobs that the contestant says are done.
func (r *race) said() (string, error) {
	out, err := r.command(r.done...).Output()
	if err != nil {
		return "", fmt.Errorf("%v: %w", r.done, err)
	}
	return string(out), nil
}

// drive starts the contestant, carries out what the plan has in store for it, and says whether it ended by itself
// and with an error.
func (r *race) drive(args []string, s *score) (refused bool, err error) {
	r.log("start %v", args)
	cmd := r.command(args...)
	cmd.Stdout, cmd.Stderr = r.out, r.out
	if err := cmd.Start(); err != nil {
		return false, err
	}
	over := make(chan error, 1)
	go func() { over <- cmd.Wait() }()
	late := time.After(patience)
	for {
		var f fault
		select {
		case err := <-over:
			r.log("ended: %v", err)
			return err != nil, nil
		case <-late: // a person loses patience
			f = "took too long"
		case f = <-r.model.faults:
		}
		r.log("%s", f)
		agents := r.processes("claude")
		if len(agents) == 0 && (f == killMid || f == killAgent) {
			return false, errors.New("no process of an agent is found, so none can be killed or counted")
		}
		if f == killAgent {
			end(agents...)
			continue
		}
		end(append(r.program(cmd.Process.Pid), cmd.Process.Pid)...)
		<-over
		switch f {
		case killMid:
			s.killed, s.survivors = true, len(r.left(r.grace))
		case killWhenDone:
			r.left(patience) // an agent that has said its last word ends by itself
		}
		return false, nil
	}
}

// program is what a wrapper has started.
func (r *race) program(pid int) []int {
	var out []int
	if r.wrapped {
		for word := range strings.FieldsSeq(proc(pid, fmt.Sprintf("task/%d/children", pid))) {
			child, _ := strconv.Atoi(word) // the kernel writes numbers
			out = append(out, child)
		}
	}
	return out
}

// end is kill -9.
func end(pids ...int) {
	for _, pid := range pids {
		if p, err := os.FindProcess(pid); err == nil {
			_ = p.Kill() // it may have ended by itself
		}
	}
}

// left lists the processes that remain when those that end by themselves have had time to.
func (r *race) left(grace time.Duration) []int {
	deadline := time.After(grace)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		list := r.processes("")
		select {
		case <-deadline:
			for _, pid := range list {
				r.log("left over: %d %.200s", pid, proc(pid, "cmdline"))
			}
			return list
		case <-tick.C:
			if len(list) == 0 {
				return nil
			}
		}
	}
}

// processes lists those that run in the home of the race, and whose program's name begins so.
func (r *race) processes(name string) []int {
	var out []int
	found, _ := filepath.Glob("/proc/[0-9]*") // the pattern is right
	for _, dir := range found {
		pid, err := strconv.Atoi(filepath.Base(dir))
		exe, gone := os.Readlink(filepath.Join(dir, "exe"))
		if err == nil && gone == nil && strings.HasPrefix(filepath.Base(exe), name) && strings.Contains(proc(pid, "environ"), "HOME="+r.home+" ") {
			out = append(out, pid)
		}
	}
	return out
}

// proc reads a file of a process, with spaces for NULs.
func proc(pid int, name string) string {
	raw, _ := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, name)) // it may be gone
	return string(bytes.ReplaceAll(raw, []byte{0}, []byte(" ")))
}

// judge holds what the contestant says against the oracle, and counts calls.
func (r *race) judge(s *score) error {
	said, err := r.said()
	if err != nil {
		return err
	}
	r.model.mu.Lock()
	defer r.model.mu.Unlock()
	if len(r.model.puzzled) > 0 { // its fault, and not that of the contestant
		return fmt.Errorf("the model does not know what is wanted of it: %q", r.model.puzzled)
	}
	s.checks, s.wasted = r.model.checks, r.model.answered+r.model.refused
	for _, j := range r.plan.jobs {
		done, really, worked := strings.Contains(said, j.title()), oracle(r.dir, j), r.model.worked[j.name]
		r.log("%s: said done %v, is done %v, worked %d times in %d attempts", j.name, done, really, worked, len(r.model.attempts[j.name]))
		switch {
		case done && really:
			s.wasted -= callsPerJob
		case done:
			s.falseDone++
		default:
			s.notDone++
		}
		s.lost += max(0, worked-1)
		if worked > 0 && !really {
			s.lost++
		}
	}
	return nil
}

// close ends what is left of the race.
func (r *race) close() {
	end(r.processes("")...)
	r.model.Close()
	fmt.Fprintln(r.out, strings.Join(r.model.log, "\n"))
	_ = r.out.Close() // a log
}
