package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"ralph/internal/event"
)

// result is what became of one piece of work: a line of --out.
type result struct {
	ID       string `json:"id"`
	How      string `json:"how"`   // the binary and the flags: results of others do not count
	Label    string `json:"label"` // right or wrong, as the corpus says
	Truth    string `json:"truth"` // right or wrong; of work that landed as the oracle says
	Verdict  string `json:"verdict,omitempty"`
	Rejected string `json:"rejected,omitempty"` // the kind of rejection, or how the attempt ended
	Reason   string `json:"reason,omitempty"`

	Risk *float64 `json:"risk,omitempty"` // of work that landed or is held
	Says string   `json:"says,omitempty"` // why

	GateRuns      int            `json:"gate_runs"`
	Gates         map[string]int `json:"gates,omitempty"` // runs of a gate, by reason
	GateSeconds   float64        `json:"gate_seconds"`
	VerifySeconds float64        `json:"verify_seconds"` // from the agent's word to the end of the attempt
	Seconds       float64        `json:"seconds"`        // all, with the oracle

	Error string `json:"error,omitempty"` // why it could not be replayed, which says nothing about ralph
}

// What ralph may say of work.
const (
	accepted = "accepted" // it landed
	held     = "held"     // a person decides
	rejected = "rejected"
)

// one replays an instance.
func (o options) one(ctx context.Context, id string) (r result) {
	began := time.Now()
	r.ID, r.How = id, o.how()
	i, err := readInstance(o.Corpus, id)
	if err == nil {
		r.Label = i.label(o.Patch)
		r.Truth = r.Label
		err = o.play(ctx, i, filepath.Join(o.Work, id), &r)
	}
	if err != nil {
		r.Error = err.Error()
	}
	r.Seconds = seconds(time.Since(began))
	return r
}

func seconds(d time.Duration) float64 { return d.Round(time.Millisecond).Seconds() }

func (o options) play(ctx context.Context, i instance, place string, r *result) error {
	if err := os.RemoveAll(place); err != nil {
		return err
	}
	if err := os.MkdirAll(place, 0o700); err != nil {
		return err
	}
	if !o.Keep {
		defer func() { _ = os.RemoveAll(place) }()
	}
	events := filepath.Join(place, "events.jsonl")
	in := command{dir: filepath.Join(place, "project"), env: []string{"XDG_STATE_HOME=" + filepath.Join(place, "state")}, limit: o.Timeout}
	task, err := o.project(ctx, in, i)
	if err != nil {
		return err
	}
	args := append([]string{"run", "--max-retries", "0", "--limit", "3", "--json", "--events", events}, o.Flags...)
	out, ran := in.run(ctx, o.Ralph, args...)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if r.Verdict, err = verdict(out, task); err != nil {
		return fmt.Errorf("ralph run: %w: %s", errors.Join(err, ran), tail(out))
	}
	if err := r.read(events, task); err != nil {
		return err
	}
	if r.Verdict == rejected {
		return nil
	}
	r.Rejected = ""
	r.risk(ctx, o, in, task)
	if r.Verdict == accepted {
		r.Truth, err = o.oracle(ctx, i, in.dir, filepath.Join(place, "oracle"))
	}
	return err
}

// project makes a ralph project at the base of an instance, whose gate is what the work could see, and adds its task.
func (o options) project(ctx context.Context, in command, i instance) (task string, err error) {
	source, err := repository(o.Bases, i.Repo)
	if err != nil {
		return "", err
	}
	if err := checkout(ctx, source, i.Base, in.dir); err != nil {
		return "", err
	}
	gate := o.Gate
	if gate == "old" || o.History > 0 {
		gate = i.OldTests
	}
	worker := quote(o.executable) + " --patch " + o.Patch + " --agent " + quote(o.Corpus)
	if out, err := in.run(ctx, o.Ralph, "init", "--yes", "--agent", worker, "--gate", o.python(gate)); err != nil {
		return "", fmt.Errorf("ralph init: %w: %s", err, tail(out))
	}
	name := filepath.Join(in.dir, ".ralph.toml")
	config, err := os.ReadFile(name)
	if err != nil {
		return "", err
	}
	verify, more := "[verify]\nrepair_rounds = 0\n", "" // recorded work cannot be repaired
	if o.Verifier == "" {
		verify += "enabled = false\n"
	} else {
		verify += "agent = \"verifier\"\n"
		said, err := json.Marshal(o.Verifier)
		if err != nil {
			return "", err
		}
		more = "\n[agents.verifier]\ncommand = " + string(said) + "\n"
	}
	if !strings.Contains(string(config), "\n[verify]\n") {
		return "", errors.New(".ralph.toml has no [verify]")
	}
	if err := os.WriteFile(name, []byte(strings.Replace(string(config), "[verify]\n", verify, 1)+more), 0o600); err != nil {
		return "", err
	}
	if _, err := in.git(ctx, "add", "-A"); err != nil {
		return "", err
	}
	if _, err := in.git(ctx, "commit", "-qm", "Use ralph"); err != nil {
		return "", err
	}
	words := strings.ReplaceAll(strings.TrimSpace(i.Problem), "<task-", "< task-")
	out, err := in.run(ctx, o.Ralph, "task", "add", title(words, i.ID), "-d", mark+i.ID+"\n\n"+words)
	task = taskName.FindString(out)
	if err != nil || task == "" {
		return "", fmt.Errorf("ralph task add: %v: %s", err, tail(out))
	}
	return task, nil
}

var (
	taskName = regexp.MustCompile(`t-[0-9a-f]{8}`)
	noTitle  = regexp.MustCompile(`[^\w .,:()-]+`)
)

// title is the first line of a problem, without what a command line or a prompt may take for something else.
func title(words, otherwise string) string {
	first, _, _ := strings.Cut(words, "\n")
	first = strings.Trim(noTitle.ReplaceAllString(first, " "), " -")
	if first = strings.TrimSpace(first[:min(len(first), 90)]); first == "" {
		return otherwise
	}
	return first
}

func quote(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

func (o options) python(line string) string { return strings.ReplaceAll(line, "{python}", o.Python) }

// repository finds the one with that name in a folder, or the folder is it.
func repository(folder, name string) (string, error) {
	owner, short, _ := strings.Cut(name, "/")
	for _, place := range []string{owner + "/" + short + ".git", owner + "+" + short + "/repo", owner + "+" + short, owner + "+" + short + ".git", short + ".git", short, ""} {
		path := filepath.Join(folder, place)
		for _, has := range []string{"objects", ".git"} {
			if _, err := os.Stat(filepath.Join(path, has)); err == nil {
				return path, nil
			}
		}
	}
	return "", fmt.Errorf("no repository %s in %s", name, folder)
}

// verdict reads what ralph run --json prints.
func verdict(out, task string) (string, error) {
	for line := range strings.Lines(out) {
		var said struct {
			Outcome string
			Tasks   []struct{ ID, Status string }
			Work    struct{ Review []struct{ Task string } }
		}
		if !strings.HasPrefix(line, "{") || json.Unmarshal([]byte(line), &said) != nil || said.Outcome == "" {
			continue
		}
		for _, t := range said.Work.Review {
			if t.Task == task {
				return held, nil
			}
		}
		for _, t := range said.Tasks {
			switch {
			case t.ID != task:
			case t.Status == "done":
				return accepted, nil
			case t.Status == "failed" || t.Status == "pending":
				return rejected, nil
			}
		}
		return "", errors.New("it did not run the task")
	}
	return "", errors.New("no result")
}

// read takes from the events of a run how often gates ran, how long the work was checked, and why it was rejected.
func (r *result) read(name, task string) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	r.Gates = map[string]int{}
	var gate, said time.Time
	in := bufio.NewScanner(file)
	in.Buffer(nil, 64<<20)
	for in.Scan() {
		var e event.Event
		if json.Unmarshal(in.Bytes(), &e) != nil || e.Task != "" && e.Task != task {
			continue
		}
		switch e.Type {
		case event.GateStarted:
			gate = e.At
		case event.GateEnded:
			r.GateRuns++
			r.GateSeconds += seconds(e.At.Sub(gate))
			why := e.Reason
			if why == "" {
				why = "the work"
			}
			r.Gates[why]++
		case event.AgentText:
			if said.IsZero() { // what is said later is said while it is checked
				said = e.At
			}
		case event.AttemptEnded:
			if !said.IsZero() {
				r.VerifySeconds += seconds(e.At.Sub(said))
			}
			said = time.Time{}
			r.Rejected, r.Reason = string(e.Rejected), e.Reason[:min(len(e.Reason), 600)]
			if r.Rejected == "" {
				r.Rejected = e.Outcome
			}
		default: // nothing of what is measured
		}
	}
	return in.Err()
}

// risk takes in how risky ralph finds the work. A ralph that does not say it is measured all the same.
func (r *result) risk(ctx context.Context, o options, in command, task string) {
	out, err := in.run(ctx, o.Ralph, "review", "--morning", "--json")
	var list []struct {
		Task, Sentence string
		Risk           float64
	}
	if err != nil || json.Unmarshal([]byte(out), &list) != nil {
		return
	}
	for _, l := range list {
		if l.Task == task {
			_, says, _ := strings.Cut(l.Sentence, ": ")
			r.Risk, r.Says = &l.Risk, says
		}
	}
}

// oracle runs the hidden tests on what landed.
func (o options) oracle(ctx context.Context, i instance, source, dir string) (string, error) {
	if err := checkout(ctx, source, "refs/heads/main", dir); err != nil {
		return "", err
	}
	return o.judge(ctx, i, dir)
}

var patched = regexp.MustCompile(`(?m)^diff --git a/\S+ b/(\S+)`)

// judge puts the hidden tests into a folder, over whatever the work made of them, and runs them.
func (o options) judge(ctx context.Context, i instance, dir string) (string, error) {
	in := command{dir: dir, limit: o.Timeout}
	for _, found := range patched.FindAllStringSubmatch(i.TestPatch, -1) {
		if _, err := in.git(ctx, "checkout", "-q", i.Base, "--", found[1]); err != nil { // it is new
			if err := os.RemoveAll(filepath.Join(dir, found[1])); err != nil {
				return "", err
			}
		}
	}
	in.stdin = i.TestPatch
	if _, err := in.git(ctx, "apply", "--whitespace=nowarn", "-"); err != nil {
		return "", err
	}
	return o.tests(ctx, dir, i.HiddenTests)
}

// tests runs a command of tests in a folder.
func (o options) tests(ctx context.Context, dir, line string) (string, error) {
	_, err := command{dir: dir, limit: o.Timeout}.shell(ctx, o.python(line))
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case errors.Is(err, errSlow):
		return unknown, nil
	case err != nil:
		return wrong, nil
	}
	return right, nil
}
