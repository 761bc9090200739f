package main

import (
	"bytes"
	"context"
	"encoding/json"
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
	starts   = 4               // how often a person types what gets a contestant going, in one plan
	patience = 2 * time.Minute // with one start
	grace    = 5 * time.Second // for the processes of a contestant that was killed
)

// race is one contestant with one plan, in a project and a home of its own.
type race struct {
	contestant
	plan      plan
	model     *model
	dir, home string // the home is in the environment of each of its processes, by which they are found
	env       []string
	out       *os.File
}

// score is what came of a race.
type score struct {
	falseDone, notDone, lost, survivors, wasted, checks, actions int
	killed                                                       bool // else there was nothing to survive
}

// newRace sets a contestant up. Bin is the path of its programs.
func newRace(c contestant, p plan, bin, dir string) (*race, error) {
	r := &race{contestant: c, plan: p, model: newModel(p), dir: filepath.Join(dir, "project"), home: filepath.Join(dir, "home")}
	tmp := filepath.Join(dir, "tmp")
	err := errors.Join(os.MkdirAll(r.dir, 0o755), os.MkdirAll(r.home, 0o755), os.MkdirAll(tmp, 0o755))
	if err != nil {
		return nil, err
	}
	if r.out, err = os.Create(filepath.Join(dir, "output.txt")); err != nil {
		return nil, err
	}
	r.env = []string{
		"PATH=" + bin + string(os.PathListSeparator) + os.Getenv("PATH"), "HOME=" + r.home, "TMPDIR=" + tmp, "LANG=C.UTF-8", "NO_COLOR=1", "IS_SANDBOX=1",
		"ANTHROPIC_BASE_URL=" + r.model.URL, "ANTHROPIC_API_KEY=sk-ant-of-the-derby",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1",
		"GIT_AUTHOR_NAME=derby", "GIT_AUTHOR_EMAIL=derby@localhost", "GIT_COMMITTER_NAME=derby", "GIT_COMMITTER_EMAIL=derby@localhost",
	}
	if claude, err := exec.LookPath(filepath.Join(filepath.SplitList(bin)[0], "claude")); err == nil {
		if claude, err = filepath.EvalSymlinks(claude); err == nil {
			r.env = append(r.env, "CLAUDE_CODE_EXECUTABLE="+claude) // for the adapter that speaks ACP, which brings one of its own
		}
	}
	if err := p.write(r.dir); err != nil {
		return nil, err
	}
	if err := r.run("git", "init", "-q", "-b", "main"); err != nil {
		return nil, err
	}
	if err := c.setup(r); err != nil {
		return nil, err
	}
	for _, args := range [][]string{{"add", "-A"}, {"commit", "-qm", "begin"}, {"tag", "begin"}} {
		if err := r.run("git", args...); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func (r *race) log(format string, args ...any) {
	fmt.Fprintf(r.out, "derby %s: "+format+"\n", slices.Insert(args, 0, any(time.Now().Format("15:04:05.000")))...)
}

func (r *race) write(files map[string]string) error {
	for name, text := range files {
		if err := writeFile(filepath.Join(r.dir, name), text); err != nil {
			return err
		}
	}
	return nil
}

// read reads a file of the project that is JSON.
func (r *race) read(name string, v any) error {
	raw, err := os.ReadFile(filepath.Join(r.dir, name))
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, v)
}

// command is a command in the project. It is found by the PATH of the race, which is not ours.
func (r *race) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	for _, dir := range filepath.SplitList(strings.TrimPrefix(r.env[0], "PATH=")) {
		if path := filepath.Join(dir, name); isProgram(path) {
			cmd.Path, cmd.Err = path, nil
			break
		}
	}
	cmd.Dir, cmd.Env = r.dir, r.env
	return cmd
}

func isProgram(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// run runs a command of the setup, or of a person.
func (r *race) run(name string, args ...string) error {
	out, err := r.command(name, args...).CombinedOutput()
	r.log("%s %s\n%s", name, strings.Join(args, " "), out)
	if err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, out)
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
			if err := r.run(args[0], args[1:]...); err != nil {
				r.log("%v", err)
			}
		}
		refused, err := r.drive(commands[last], &s)
		if err != nil {
			return s, err
		}
		done, err := r.done(r)
		if err != nil {
			return s, err
		}
		if !slices.ContainsFunc(r.plan.jobs, func(j job) bool { return !done[j.name] }) {
			break
		}
		commands = r.again(r, refused)
		r.model.wait()
	}
	return s, r.judge(&s)
}

// drive starts the contestant, carries out what the plan has in store for it, and says whether it ended by itself
// and in trouble.
func (r *race) drive(args []string, s *score) (refused bool, err error) {
	r.log("start %s", strings.Join(args, " "))
	cmd := r.command(args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr = r.out, r.out
	if err := cmd.Start(); err != nil {
		return false, err
	}
	over := make(chan error, 1)
	go func() { over <- cmd.Wait() }()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		select {
		case err := <-over:
			r.log("ended: %v", err)
			return err != nil, nil
		case <-ctx.Done(): // a person loses patience
			r.log("took too long")
			r.kill(cmd.Process.Pid)
			<-over
			return false, nil
		case f := <-r.model.faults:
			r.log("%s", f)
			agents := r.agents()
			if len(agents) == 0 && f != killWhenDone { // which may have ended by now
				return false, errors.New("no process of an agent is found, so none can be killed or counted")
			}
			if f == killAgent {
				for _, pid := range agents {
					end(pid)
				}
				continue
			}
			r.kill(cmd.Process.Pid)
			<-over
			s.killed = true
			left := r.left()
			s.survivors += len(left)
			for _, pid := range left {
				r.log("left over: %d %s", pid, proc(pid, "cmdline"))
			}
			return false, nil
		}
	}
}

// kill ends the process that orchestrates, as by kill -9, with the one that only started it.
func (r *race) kill(pid int) {
	pids := []int{pid}
	if r.wrapped {
		for _, p := range r.processes() {
			if parent(p) == pid {
				pids = append(pids, p)
			}
		}
	}
	for _, p := range slices.Backward(pids) {
		end(p)
	}
}

func end(pid int) {
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Kill() // it may have ended by itself
	}
}

// left lists the processes that remain when those that end by themselves have had time to.
func (r *race) left() []int {
	deadline := time.After(grace)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		list := r.processes()
		if len(list) == 0 {
			return nil
		}
		select {
		case <-deadline:
			return list
		case <-tick.C:
		}
	}
}

// processes lists those that run in the home of the race.
func (r *race) processes() []int {
	var out []int
	found, _ := filepath.Glob("/proc/[0-9]*") // the pattern is right
	for _, dir := range found {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err == nil && strings.Contains(proc(pid, "environ"), "HOME="+r.home+" ") && status(pid, "State:") != "Z" {
			out = append(out, pid)
		}
	}
	return out
}

// agents lists those that are Claude Code.
func (r *race) agents() []int {
	return slices.DeleteFunc(r.processes(), func(pid int) bool {
		exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
		return err != nil || !strings.HasPrefix(filepath.Base(exe), "claude")
	})
}

// proc reads a file of a process, with spaces for NULs.
func proc(pid int, name string) string {
	raw, _ := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, name)) // it may be gone
	return string(bytes.ReplaceAll(raw, []byte{0}, []byte(" ")))
}

func status(pid int, key string) string {
	for line := range strings.Lines(proc(pid, "status")) {
		if value, ok := strings.CutPrefix(line, key); ok {
			return strings.Fields(value)[0]
		}
	}
	return ""
}

func parent(pid int) int {
	n, _ := strconv.Atoi(status(pid, "PPid:")) // 0 if it is gone
	return n
}

// judge holds what the contestant says against the oracle, and counts calls.
func (r *race) judge(s *score) error {
	done, err := r.done(r)
	if err != nil {
		return err
	}
	r.model.mu.Lock()
	defer r.model.mu.Unlock()
	truly := 0
	for _, j := range r.plan.jobs {
		real := oracle(r.dir, j)
		worked := r.model.worked[j.name]
		switch {
		case done[j.name] && real:
			truly++
		case done[j.name]:
			s.falseDone++
		default:
			s.notDone++
		}
		s.lost += max(0, worked-1)
		if worked > 0 && !real {
			s.lost++
		}
		r.log("%s: said done %v, is done %v, worked %d, attempts %d", j.name, done[j.name], real, worked, len(r.model.attempts[j.name]))
	}
	s.checks = r.model.checks
	s.wasted = r.model.answered + r.model.refused - callsPerJob*truly
	return nil
}

// callsPerJob is what a job takes: look, do, say.
const callsPerJob = 3

// close ends what is left of the race.
func (r *race) close() {
	for _, pid := range r.processes() {
		end(pid)
	}
	r.model.Close()
	for _, line := range r.model.log {
		fmt.Fprintln(r.out, line)
	}
	_ = r.out.Close() // a log
}
