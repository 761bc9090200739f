package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"ralph/dag"
	"ralph/internal/testing/check"
	"ralph/internal/testing/fakeagent"
	"ralph/internal/testing/raced"
)

// slotSoak kills runs whose agents work in slots.
type slotSoak struct {
	*place
	random *rand.Rand
	runs   []*running
	killed map[string]int // by what it was
	person person
}

// TestSoakInSlots kills runs, their helpers and their git processes at random times, at times
// beside a second run, while a person commits to the target, edits the checkout and resets
// tasks. Nothing is lost, nothing lands twice, and nothing is left.
func TestSoakInSlots(t *testing.T) {
	raced.Skip(t, "the program is killed here")
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("RALPH_SOAK_SEED"); text != "" {
		var err error
		seed, err = strconv.ParseUint(text, 10, 64)
		check.OK(t, err)
	}
	t.Logf("RALPH_SOAK_SEED=%d", seed)
	s := newSlotSoak(t, seed)
	defer func() { t.Logf("killed: %v; %d tasks; the person: %s", s.killed, s.tasks, &s.person) }()
	begin, told := time.Now(), 0
	for kills := soakKills(t, "RALPH_SOAK_SLOTS", 50); s.sum() < kills; {
		if s.round(); s.sum() >= told+50 { // so that one that takes long can be told from one that hangs
			told = s.sum()
			t.Logf("%d kills of %d in %s", told, kills, time.Since(begin).Round(time.Second))
		}
	}
	s.finish()
	s.wantWhole()
}

const (
	sharedFile  = "shared.txt"
	titleOwn    = "Write a file of its own"
	titleShared = "Add to a shared file"
)

// soakWork is a script that puts a line into a file, instead of those that begin as said. It may
// run again, and resolves conflicts.
func soakWork(temp, instead, line, file string) string {
	return fmt.Sprintf(`{ sed -e '/^[<=>|]\{7\}/d' -e '/^%[2]s/d' %[4]s || :; echo "%[3]s"; } 2>/dev/null > %[1]s/new-$$ && mv %[1]s/new-$$ %[4]s`,
		temp, instead, line, file)
}

func newSlotSoak(t *testing.T, seed uint64) *slotSoak {
	t.Helper()
	script := fakeagent.Script{}
	s := &slotSoak{random: rand.New(rand.NewPCG(seed, 0)), killed: map[string]int{}}
	s.place = newPlace(t, script, "max_attempts = 1000", "max_retries = 1000", "[merge]", `review = "risky"`, "risk = 0.1", "[verify]", `commands = ["test -f person.txt"]`,
		"[recovery]", "max_interruptions = 1000000000")
	for title, work := range map[string]string{
		titleOwn:    soakWork(s.ledger, "{{task}} ", "{{task}} {{session}}", "{{task}}.txt"),
		titleShared: soakWork(s.ledger, "{{task}} {{session}}$", "{{task}} {{session}}", sharedFile),
	} {
		script.Conversations = append(script.Conversations, fakeagent.Conversation{When: fakeagent.When{Contains: title}, Steps: []step{
			{Do: "run", Argv: []string{"sh", "-c", work}},
			{Do: "mark", Text: "worked {{task}}"},
			saysDone(),
		}})
	}
	s.write("script.json", script.JSON())
	s.write(sharedFile, "")
	s.write("person.txt", "")
	s.env = append(s.env, "RALPH_SANDBOX_MODE=off", "XDG_STATE_HOME="+t.TempDir())
	s.repository()
	s.shell(`git config user.name t; git config user.email t@localhost`)
	s.append(".git/info/exclude", "/plan.jsonl\n/.local\n/.cache\n/.config\n")
	s.person = person{place: s.place, random: rand.New(rand.NewPCG(seed, 1)), files: map[string]string{}, added: map[string]int{}}
	return s
}

func (s *slotSoak) sum() (total int) {
	for _, n := range s.killed {
		total += n
	}
	return total
}

// add plans eight tasks: most have a file of their own, one is a script, whose work is so large that it is held, two stand on that, and two
// change a shared file.
func (s *slotSoak) add() {
	var lines strings.Builder
	for range 8 {
		s.tasks++
		id := number(s.tasks)
		switch s.tasks % 8 {
		case 1:
			text := "```sh\n" + soakWork(s.ledger, id, id+" $$", id+".txt") + "\nseq 300 > big-" + id + ".txt\n```"
			fmt.Fprintf(&lines, `{"ref":%q,"title":"a script","agent":"shell","description":%q}`+"\n", id, text)
		case 2, 3:
			fmt.Fprintf(&lines, `{"ref":%q,"title":%q}`+"\n", id, titleShared)
		case 6: // on the script
			fmt.Fprintf(&lines, `{"ref":%q,"title":%q,"after":[%q]}`+"\n", id, titleOwn, number(s.tasks-5))
		case 7:
			fmt.Fprintf(&lines, `{"ref":%q,"title":%q,"after":[%q]}`+"\n", id, titleOwn, number(s.tasks-1))
		case 4, 5:
			fmt.Fprintf(&lines, `{"ref":%q,"title":%q,"locks":["port"]}`+"\n", id, titleOwn)
		default:
			fmt.Fprintf(&lines, `{"ref":%q,"title":%q}`+"\n", id, titleOwn)
		}
	}
	s.imports(lines.String())
}

// round lets one or two runs work until one process of them was killed.
func (s *slotSoak) round() {
	s.runs = slices.DeleteFunc(s.runs, (*running).over)
	if status := s.overview(); status.Total-status.Counts["done"] < 6 {
		s.add()
	}
	if len(s.runs) == 0 {
		s.person.tidy()
	}
	if n := 1 + s.random.IntN(2); len(s.runs) < n {
		s.runs = append(s.runs, s.start("run", "--target", "main", "--jobs", strconv.Itoa(8/n)))
	}
	blow := strike{
		run: s.runs[s.random.IntN(len(s.runs))], after: time.Duration(s.random.IntN(1200)) * time.Millisecond, landing: s.random.IntN(2) == 0,
		victim: []string{theGit, theHelper, theRun, theRun, theFamily, theFamily}[s.random.IntN(6)],
	}
	dead := make(chan bool)
	go func() { dead <- blow.fall() }()
	for {
		select {
		case hit := <-dead:
			if hit {
				s.killed[blow.String()]++
			}
			return
		case <-time.After(time.Duration(s.person.random.IntN(200)) * time.Millisecond):
			s.person.act()
		}
	}
}

// strike is how processes of a run are killed, as the kernel would.
type strike struct {
	run     *running
	after   time.Duration
	landing bool // not before git moves the target
	victim  string
}

const (
	theGit    = "a git process"
	theHelper = "a helper"
	theRun    = "a run"
	theFamily = "a run, its helpers and git"
)

func (s strike) String() string {
	if s.landing {
		return s.victim + ", landing"
	}
	return s.victim
}

// fall kills, unless there was nothing to kill.
func (s strike) fall() bool {
	r, pid := s.run, s.run.cmd.Process.Pid
	timer := time.NewTimer(s.after)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.ended:
		return false
	}
	var victims []int
	look := time.NewTicker(time.Millisecond) // most of them live for some; to look without a pause takes a processor from those that are to die
	defer look.Stop()
	for deadline := time.After(2 * time.Second); len(victims) == 0; victims = s.victims(pid) {
		select {
		case <-look.C:
		case <-r.ended:
			return false
		case <-deadline:
			return false
		}
	}
	if s.victim == theFamily { // first what it would mend
		_ = r.cmd.Process.Signal(syscall.SIGSTOP)
		victims = append(s.victims(pid), childrenOf(pid)...)
	}
	for _, victim := range victims {
		_ = syscall.Kill(victim, syscall.SIGKILL)
	}
	if s.victim == theRun || s.victim == theFamily {
		_ = r.cmd.Process.Kill()
		<-r.ended
		return r.cmd.ProcessState.ExitCode() == -1
	}
	return true
}

// victims are the processes to kill, or, if it is the run alone, those that have to be there.
func (s strike) victims(pid int) (list []int) {
	for _, child := range childrenOf(pid) {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", child))
		name, _, _ := strings.Cut(string(line), "\x00")
		isGit := filepath.Base(name) == "git"
		switch {
		case s.landing && !strings.Contains(string(line), "ralph: land"):
		case s.victim == theRun:
			return []int{pid}
		case s.landing: // or what its hook started
			return slices.Concat(childrenOf(child), []int{child})[:1]
		case s.victim == theFamily || isGit == (s.victim == theGit):
			return []int{child}
		}
	}
	if s.victim == theRun && !s.landing {
		return []int{pid}
	}
	return list
}

// finish lets a run do all that is left.
func (s *slotSoak) finish() {
	for _, r := range s.runs {
		_ = r.cmd.Process.Kill()
		<-r.ended
	}
	if !s.person.tidy() { // a lock that a dead git left is in the way
		s.want(0, "recover")
	}
	check.That(s, s.person.tidy(), "the person cannot put these away: %v", s.person.files)
	last := s.start("run", "--target", "main", "--jobs", "8")
	for <-last.ended; s.person.review(); <-last.ended {
		last = s.start("run", "--target", "main", "--jobs", "8")
	}
	for n := 1; n <= s.tasks; n++ {
		if t := s.task(number(n)); t.Status != dag.Done {
			s.Errorf("%s is %s: %s", number(n), t.Status, t.LastFailure)
		}
	}
	last.wait(0)
	s.unite()
}

// unite does what the end of a run says if commits of the person conflict with what landed beyond the branch meanwhile.
func (s *slotSoak) unite() {
	if s.shell(`git for-each-ref refs/ralph/landed`) == "" {
		return
	}
	s.shell(`git merge -q --no-edit refs/ralph/landed/main || { sed -i '/^[<=>|]\{7\}/d' $1 && git add $1 && git commit -q --no-edit; }`, sharedFile)
	s.want(0, "merge", "--target", "main")
}

// wantWhole wants all that must hold afterwards.
func (s *slotSoak) wantWhole() {
	s.awaitGone()
	s.wantNoOverlap()
	s.want(0, "doctor")
	s.wantNobodyLanding()
	s.person.wantUnharmed()
	check.Equal(s, "refs that are left", "", s.shell(`git for-each-ref refs/ralph`))
	check.Equal(s, "locks that are left", "", s.shell(`find .git -name '*.lock'`))
	trailers := map[string]int{}
	for _, id := range strings.Fields(s.shell(`git log --format='%(trailers:key=Ralph-Task,valueonly)' main`)) {
		trailers[id]++
	}
	shared := strings.Split(strings.TrimSpace(s.read(sharedFile)), "\n")
	check.Equal(s, "lines that are in "+sharedFile+" twice", []string(nil), doubled(shared))
	s.view(func(g *dag.Graph) error {
		merges, err := g.Queue.MergesIn(dag.MergeLanded)
		check.OK(s, err)
		for n := 1; n <= s.tasks; n++ {
			id := number(n)
			t, err := g.Tasks.Get(id)
			check.OK(s, err)
			check.Equal(s, "status of "+id, dag.Done, t.Status)
			landed, since := 0, 0
			for _, m := range merges {
				if m.Task != id {
					continue
				}
				landed++
				a, err := g.History.Attempt(m.Attempt)
				check.OK(s, err)
				if !a.StartedAt.Before(t.StartedAt) {
					since++
				}
				s.shell(`git merge-base --is-ancestor $1 main`, m.Candidate)
			}
			if check.Equal(s, "commits of "+id+" on the target", landed, trailers[id]); landed != trailers[id] {
				s.Log(s.shell(`git log --format='%H %ci %(trailers:key=Ralph-Attempt)' --grep=$1 main; grep -h $1 .ralph/runs/*/events.jsonl | grep 'merge_\|recovered\|attempt_ended'`, id))
			}
			check.Equal(s, "landings of "+id+" since its last reset", 1, since)
			if s.has(id + ".txt") {
				check.Equal(s, "lines of "+id, 1, strings.Count(s.read(id+".txt"), id))
			} else {
				check.That(s, strings.Contains(s.read(sharedFile), id+" "), "%s is not in %s", id, sharedFile)
			}
		}
		return nil
	})
}

// doubled are the lines that a file has more than once.
func doubled(lines []string) (list []string) {
	lines = slices.Sorted(slices.Values(lines))
	for i := range lines[1:] {
		if lines[i] == lines[i+1] {
			list = append(list, lines[i])
		}
	}
	return list
}

// person works in the project while agents do.
type person struct {
	*place
	random *rand.Rand
	files  map[string]string // what they have not committed
	added  map[string]int    // how many lines of that they wrote

	said, commits, lines, resets, inTheWay, accepted, rejected int // how often they did what; lines are those that were committed
}

func (p *person) String() string {
	return fmt.Sprintf("%d commits, %d resets, %d files in the way, %d accepted, %d rejected", p.commits, p.resets, p.inTheWay, p.accepted, p.rejected)
}

// act does one thing.
func (p *person) act() {
	switch p.random.IntN(12) {
	case 0, 1:
		p.edit("person.txt")
		p.commit()
	case 2:
		p.edit(sharedFile)
		p.inTheWay++
	case 3: // where a task is about to put its file
		p.edit(number(p.tasks-p.random.IntN(8)) + ".txt")
		p.inTheWay++
	case 4:
		p.edit(fmt.Sprintf("mine-%d.txt", p.random.IntN(5)))
	case 5:
		p.reset()
	case 6, 7:
		if p.random.IntN(3) == 0 {
			p.sendBack()
		} else {
			p.review()
		}
	default:
		p.makeWay()
	}
}

// git runs git as a person does, who looks again if it did not work.
func (p *person) git(args ...string) (string, bool) {
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = p.dir, p.env
	out, err := cmd.CombinedOutput()
	return string(out), err == nil
}

// alone does something while no git process can change files: what an editor and git write in the same
// moment, nobody can keep apart. It does nothing while git is at it, or was killed at it.
func (p *person) alone(do func()) {
	for _, name := range []string{"HEAD.lock", "refs/heads/main.lock"} {
		if p.has(".git/" + name) {
			return
		}
	}
	lock, err := os.OpenFile(filepath.Join(p.dir, ".git/index.lock"), os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return
	}
	do()
	check.OK(p, os.Remove(lock.Name()))
	check.OK(p, lock.Close())
}

// edit adds a line to a file.
func (p *person) edit(name string) {
	p.alone(func() {
		p.wantAsLeft()
		_, theirs := p.files[name]
		tracked := name == sharedFile || name == "person.txt"
		if p.has(name) && !theirs && !tracked {
			return // the work of a task is there already
		}
		text := ""
		if p.has(name) {
			text = p.read(name)
		}
		p.said++
		p.added[name]++
		p.files[name] = text + fmt.Sprintf("person %d\n", p.said)
		p.write(name, p.files[name])
	})
}

// commit commits what they changed of tracked files.
func (p *person) commit() {
	p.wantAsLeft()
	var names []string
	for name := range p.files {
		if name == sharedFile || name == "person.txt" {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return
	}
	if _, done := p.git(append([]string{"commit", "-qm", fmt.Sprintf("by hand %d", p.commits), "--"}, names...)...); done {
		p.commits++
		for _, name := range names {
			delete(p.files, name)
			p.lines += p.added[name]
			delete(p.added, name)
		}
	}
}

// makeWay takes back what is in the way of landing, or commits it.
func (p *person) makeWay() {
	p.alone(func() {
		p.wantAsLeft()
		for name := range p.files {
			if strings.HasPrefix(name, "t-") {
				check.OK(p, os.Remove(filepath.Join(p.dir, name)))
				delete(p.files, name)
			}
		}
	})
	p.commit()
}

// tidy commits or takes away everything but what is in nobody's way.
func (p *person) tidy() bool {
	p.makeWay()
	for name := range p.files {
		if !strings.HasPrefix(name, "mine-") {
			return false
		}
	}
	return true
}

// reset resets a task: one that is at work, or else any.
func (p *person) reset() {
	id := number(1 + p.random.IntN(p.tasks))
	if running := p.overview().Running; len(running) > 0 && p.random.IntN(4) > 0 {
		id = running[p.random.IntN(len(running))].ID
	}
	p.want(0, "task", "reset", id)
	p.resets++
}

// held lists the tasks whose work waits for them.
func (p *person) held() (ids []string) {
	p.view(func(g *dag.Graph) error {
		held, err := g.Queue.ToReview()
		for _, m := range held {
			ids = append(ids, m.Task)
		}
		return err
	})
	return ids
}

// review accepts one piece of held work, and says whether there is any. A task may have been reset meanwhile.
func (p *person) review() bool {
	ids := p.held()
	if len(ids) > 0 {
		p.want(0, "task", "accept", ids[p.random.IntN(len(ids))])
		p.accepted++
	}
	return len(ids) > 0
}

// sendBack rejects one.
func (p *person) sendBack() {
	if ids := p.held(); len(ids) > 0 {
		p.want(0, "task", "reject", ids[p.random.IntN(len(ids))])
		p.rejected++
	}
}

// wantAsLeft wants every file as they left it.
func (p *person) wantAsLeft() {
	p.Helper()
	for name, text := range p.files {
		check.Equal(p, "the person's "+name, text, p.read(name))
	}
}

// wantUnharmed wants that all they committed is on the target once, and the rest as they left it.
func (p *person) wantUnharmed() {
	p.Helper()
	p.wantAsLeft()
	var left []string
	for name := range p.files {
		left = append(left, "?? "+name)
	}
	slices.Sort(left)
	status := strings.Split(strings.TrimSpace(p.shell(`git status --porcelain -- . ":!.ralph"`)), "\n")
	check.Equal(p, "what is uncommitted", strings.Join(left, "\n"), strings.Join(status, "\n"))
	check.Equal(p, "commits by hand", p.commits, strings.Count(p.shell(`git log --format=%s main`), "by hand "))
	lines := strings.Split(p.read("person.txt")+p.read(sharedFile), "\n")
	lines = slices.DeleteFunc(lines, func(line string) bool { return !strings.HasPrefix(line, "person ") })
	check.Equal(p, "lines by hand", p.lines, len(lines))
	check.Equal(p, "lines that are there twice", []string(nil), doubled(lines))
}
