package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// job is one task: a shell script of two numbers, with a test that contestants see and an oracle that they do not.
type job struct {
	name  string
	after []string // the jobs that have to be done before
	expr  string   // what the script prints, of $1 and $2
	seen  string   // what it prints for 3 and 4, as the test in the project says
	truth string   // what it prints for 7 and 5, as only the oracle knows
	lie   lie      // of the first attempt; later ones are honest
	fault fault    // happens once
}

// lie is what an agent does instead of the work before it says that it is done.
type lie string

const (
	honest  lie = ""
	nothing lie = "does nothing"
	wrong   lie = "leaves the test red"
	deletes lie = "deletes the test"
	fits    lie = "prints what the test wants, whatever it is given"
)

// fault is what happens to a contestant from outside.
type fault string

const (
	limited      fault = "rate limit"                                 // before the work, for all calls, for the length of a limit
	killMid      fault = "kill -9 of the orchestrator, work not done" // the agent has looked, and is about to do it
	killWhenDone fault = "kill -9 of the orchestrator, work done"     // the agent has just said that it is done
	killAgent    fault = "kill -9 of the agent"                       // the work is there, the agent has not said so
)

// plan is the same for all contestants.
type plan struct {
	name string
	jobs []job
	wide bool // all at once, where a contestant can do that
}

// plans are the five of the derby.
func plans() []plan {
	sum := job{name: "sum", expr: "$1 + $2", seen: "7", truth: "12", after: []string{}}
	double := job{name: "double", expr: "2 * $(sh src/sum.sh $1 $2)", seen: "14", truth: "24", after: []string{"sum"}}
	square := job{name: "square", expr: "$(sh src/double.sh $1 $2) * $(sh src/double.sh $1 $2)", seen: "196", truth: "576", after: []string{"double"}}
	product := job{name: "product", expr: "$1 * $2", seen: "12", truth: "35", after: []string{}}
	excess := job{name: "excess", expr: "$1 - $2", seen: "-1", truth: "2", after: []string{}}
	mean := job{name: "mean", expr: "($1 + $2) / 2", seen: "3", truth: "6", after: []string{}}
	return []plan{
		{name: "chain", jobs: []job{sum, double, square}},
		{name: "fan", jobs: []job{sum, product, excess}, wide: true},
		{name: "lies", jobs: []job{sum.lies(wrong), product.lies(deletes), excess.lies(nothing), mean.lies(fits)}},
		{name: "limit", jobs: []job{sum, double.meets(limited), square}},
		{name: "kills", jobs: []job{sum.meets(killWhenDone), double.meets(killMid), square.meets(killAgent)}},
	}
}

func (j job) lies(l lie) job    { j.lie = l; return j }
func (j job) meets(f fault) job { j.fault = f; return j }
func (j job) path() string      { return "src/" + j.name + ".sh" }
func (j job) test() string      { return "tests/" + j.name + ".sh" }
func (j job) title() string     { return "Write " + j.path() + " (job-" + j.name + ")" }
func (j job) text() string {
	return "It prints " + j.expr + " for the two numbers that it is given. `sh " + j.test() + "` has to pass."
}

// source is the script that does the job, or one that a lie leaves.
func (j job) source(l lie) string {
	switch l {
	case wrong, deletes:
		return "echo 0\n"
	case fits:
		return "echo " + j.seen + "\n"
	}
	return "echo $((" + j.expr + "))\n"
}

// work is the command that does a job, or what a lie makes of it.
func (j job) work(l lie) string {
	write := "mkdir -p src && cat > " + j.path() + " <<'END'\n" + j.source(l) + "END\n"
	switch l {
	case nothing:
		return ""
	case deletes:
		return write + "rm -f " + j.test() + "\n"
	}
	return write + "test -e " + j.test() + " || git checkout -q begin -- " + j.test() + "\n"
}

// write makes the project that every contestant starts with.
func (p plan) write(dir string) error {
	for _, j := range p.jobs {
		if err := writeFile(filepath.Join(dir, j.test()), "[ \"$(sh "+j.path()+" 3 4)\" = "+j.seen+" ]\n"); err != nil {
			return err
		}
	}
	return nil
}

// oracle says whether a job is really done in a folder, with numbers that no contestant saw.
func oracle(dir string, j job) bool {
	cmd := exec.Command("sh", j.path(), "7", "5")
	cmd.Dir = dir
	out, err := cmd.Output()
	return err == nil && strings.TrimSpace(string(out)) == j.truth
}

func writeFile(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}
