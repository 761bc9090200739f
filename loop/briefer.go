package loop

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"ralph/dag"
	"ralph/internal/event"
	"ralph/internal/git"
	"ralph/internal/inbox"
	"ralph/internal/plain"
	"ralph/internal/proof"
	"ralph/journal"
	"ralph/knowledge"
	"ralph/loop/attempt"
	"ralph/loop/policy"
	"ralph/prompt"
	"ralph/strategy"
)

// briefer turns claims into jobs.
type briefer struct{ shared }

// assign is the part of a job that needs no look at the graph.
func (b briefer) assign(claim dag.Claim, agent string, iteration int) attempt.Job {
	o, t := b.opts, claim.Task
	j := attempt.Job{
		Run: attempt.RunRef{
			ID: b.run.ID, Owner: b.run.Owner + "/" + claim.Attempt, Attempt: claim.Attempt, Iteration: iteration, Limit: o.Limits.Iterations,
		},
		Task:  t,
		Place: attempt.Place{Dir: o.Place.Dir, Project: o.Place.Dir, Folder: filepath.Join(o.Place.Runs, b.run.ID, claim.Attempt)},
		Agent: attempt.Assignment{
			Name: agent, Verifier: o.Agents.Verifier,
			Standing: b.ledger.standing(agent, t.ID), VerifierProven: b.ledger.standing(o.Agents.Verifier, "").Proven,
		},
		Verify: o.Verify.Verification, Rules: o.Rules.Rules, Detect: o.Agents.Detect, Lessons: o.Prompt.Extract && o.Prompt.Knowledge != nil,
	}
	if dir := o.Inbox.Trust.File("witness"); dir != "" {
		j.Place.Secret = filepath.Join(dir, t.ID)
	}
	s := &j.Agent.Standing
	s.Substitute, s.OwnAgent, s.OwnModel = t.Agent == "" && agent != o.Host.Setup.Agent, t.Agent != "", t.Model != ""
	if claim.Resume {
		b.resume(claim, &j)
	}
	return j
}

// resume has the work verified that an earlier attempt finished, if that can be read.
func (b briefer) resume(claim dag.Claim, j *attempt.Job) {
	old, accepted := claim.Resumed, claim.Merge.Accepted || claim.Resumed.Accepted != ""
	f, spared, err := readFinished(b.opts.Inbox.Trust, b.opts.Place.Runs, old)
	switch {
	case spared:
		b.bus.warn(claim.Task.ID, "the finished work of "+old.ID+" is checked in full: an older ralph, or an agent, wrote what would spare checks")
	case err == nil:
	case accepted: // what it is about is all that a commit has to say
		f.Set.Journal = claim.Task.Description
	default:
		b.bus.warn(claim.Task.ID, "the finished work of "+old.ID+" cannot be verified alone, so the agent is run again: "+err.Error())
		return
	}
	j.Accepted = accepted // a person has looked: what the checks find in it is excused
	tier, _ := strategy.ParseTier(old.Model)
	j.Finished, j.History.Finished, j.Agent.Choice = &f, old, strategy.Choice{Model: old.Model, Tier: tier}
}

// complete adds what the graph and the journal know, and chooses the model. The share is
// how much of the budgets is used.
func (b briefer) complete(ctx context.Context, j *attempt.Job, share float64) error {
	t := j.Task
	guide, changed, offered := b.ledger.guide(j.Agent.Name)
	j.History.Changed = changed
	err := b.opts.Graph.Store.View(ctx, func(g *dag.Graph) error {
		base, _ := g.Queue.Base(t.ID) // the first error of the database is that of the transaction
		if base != "" {
			j.History.Base = &attempt.Base{}
			if err := json.Unmarshal([]byte(base), j.History.Base); err != nil {
				return err
			}
		}
		j.History.Attempts, _ = g.History.Attempts(t)
		j.History.Answers, _ = inbox.Answers(g, b.opts.Inbox.Trust, t.ID)
		if j.Review, _ = g.Plan.Review(t); j.Review != nil {
			j.Detect.Unchanged, j.Detect.NoProgress = 0, 0 // it changes nothing
			if j.Review.Tree != "" {
				j.History.Base = &attempt.Base{Tree: j.Review.Tree}
			}
		}
		if len(t.Proves) > 0 {
			j.Proof.Criteria = criteria(*b.opts, t)
			j.Proof.Tree, _ = g.Plan.FeatureTree(t.Feature)
		}
		shared, err := g.Plan.FeatureGates(t.Feature)
		others := slices.DeleteFunc(slices.Concat(b.opts.Verify.Gates, shared), func(gate string) bool { return slices.Contains(t.Gates, gate) })
		j.Verify.Gates = slices.Concat(others, t.Gates) // what is among its own runs once
		j.Verify.Own = len(j.Verify.Gates) - len(t.Gates)
		if j.Finished == nil {
			j.Brief, err = gather(g, *b.opts, b.run.ID, t, j.History.Last())
		}
		return err
	})
	if err != nil || j.Finished != nil {
		return err
	}
	j.Brief.Models = models(offered)
	if b.opts.Agents.ResumeSession {
		j.Session = earlierSession(t, j.History.Attempts)
	}
	guide.Kind, guide.Model, guide.Pinned, guide.Iteration = b.opts.Models.Strategy, b.opts.Models.Model, t.Model, j.Run.Iteration
	guide.Task, guide.Retries, guide.Used = t.ID, t.Retries, share
	_, guide.Above = attempt.Drifted(t, j.History.Attempts)
	choice, effort := strategy.Next(guide), cmp.Or(t.Effort, b.opts.Models.Effort)
	if b.opts.Agents.Modelless != nil && b.opts.Agents.Modelless(j.Agent.Name) {
		j.Verify.Witness = "" // its commands are the task's own
		choice, effort = strategy.Choice{}, ""
	}
	if j.Agent.Standing.Substitute && !slices.Contains(b.opts.Agents.Rotate, j.Agent.Name) && choice.Tier == "" && choice.Model != "" {
		choice.Reason += "; but that is another agent's name for it, so " + j.Agent.Name + " has its own choice"
		choice.Model = ""
	}
	j.Agent.Choice, j.Agent.Effort = choice, effort
	return nil
}

// criteria are those of its feature's specification that a task says it proves.
func criteria(o Options, t dag.Task) []proof.Criterion {
	if len(t.Proves) == 0 {
		return nil
	}
	return proof.Of(t, proof.Criteria(o.Prompt.Context(t).Spec.Text))
}

// Gather collects all that the prompt of a task is made of, within a run or, with
// an empty ID, before one.
func Gather(ctx context.Context, opts Options, run string, t dag.Task) (in prompt.Input, err error) {
	opts = opts.withDefaults()
	var last dag.Attempt
	err = opts.Graph.Store.View(ctx, func(g *dag.Graph) (err error) {
		attempts, _ := g.History.Attempts(t)
		last = attempt.History{Attempts: attempts}.Last()
		in, err = gather(g, opts, run, t, last)
		return err
	})
	if err != nil {
		return in, err
	}
	state := git.Look(ctx, opts.Place.Dir)
	for _, command := range t.Context {
		in.Printed = append(in.Printed, prompt.Printed{Command: command, Text: "(what it prints when an attempt begins)"})
	}
	return attempt.Brief(in, opts.sources(ctx, opts.Place.Dir, t, nil, knowledge.Query.Brief), state, last), nil
}

// sources reads what the project's files say about a task. Brief selects the knowledge.
func (o *Options) sources(ctx context.Context, dir string, t dag.Task, changed []string, brief func(q knowledge.Query, entries []knowledge.Entry, tokens int) knowledge.Told) attempt.Sources {
	s := o.Prompt.Context(t)
	if o.Prompt.Knowledge == nil {
		return s
	}
	q := knowledge.Query{Title: t.Title, Description: t.Description, Feature: t.Feature, Tags: t.Tags, Paths: changed, Now: o.Host.Now()}
	entries, unread := o.Prompt.Knowledge.Load()
	uses, err := KnowledgeUses(ctx, o.Graph.Store)
	if err != nil {
		s.Unread = append(s.Unread, attempt.Unread{Subject: "uses", Text: "how often knowledge was used is not known: " + err.Error()})
	}
	q.Uses = uses
	told := brief(q, entries, o.Prompt.Tokens)
	s.Knowledge, s.TaskKnowledge = prompt.Document{Text: told.Feature, From: knowledge.Folder}, prompt.Document{Text: told.Task, From: knowledge.Folder}
	s.Told = told.Entries
	skills, unusable := knowledge.Skills(dir, q)
	for _, skill := range skills {
		s.Skills = append(s.Skills, prompt.Skill{Name: skill.Name, Description: skill.Description, Path: skill.Path})
	}
	for _, w := range append(unread, unusable...) {
		s.Unread = append(s.Unread, attempt.Unread{Subject: w.File, Text: w.String()})
	}
	return s
}

// gather collects what graph and journal know about a task. The first error of the database is that of all that is read
// after it.
func gather(g *dag.Graph, opts Options, run string, t dag.Task, last dag.Attempt) (in prompt.Input, err error) {
	in.Task = prompt.Task{ID: t.ID, Title: t.Title, Description: t.Description, Output: t.Output, MayChange: t.MayChange}
	in.Proves = proof.Lines(criteria(opts, t))
	if t.Parent != "" {
		p, err := g.Tasks.Get(t.Parent)
		if err != nil {
			return in, err
		}
		in.Parent = &prompt.Task{ID: p.ID, Title: p.Title, Description: p.Description}
	}
	blockers, _ := g.Tasks.Blockers(t)
	for _, b := range blockers {
		if b.Status == dag.Done {
			in.Prerequisites = append(in.Prerequisites, prompt.Prerequisite{ID: b.ID, Title: b.Title, Summary: summaryOf(g, b)})
		}
	}
	related, _ := g.Tasks.Related(t)
	for _, r := range related[:min(len(related), maxOutputs)] {
		in.Related = append(in.Related, fmt.Sprintf("%s (%s): %s", r.ID, r.State(g.Now()), plain.Excerpt(r.Title)))
	}
	in.Outputs = outputs(g, opts.Place.Runs, t)
	if t.Retries > 0 {
		limit := opts.Rules.MaxRetries
		for _, override := range []*int{t.MaxRetries, opts.Rules.Retries} {
			if override != nil {
				limit = *override
			}
		}
		reason, _ := g.Tasks.LastFailure(t)
		in.Retry = &prompt.Retry{Attempt: t.Retries, Max: limit, Reason: reason, Unchanged: strings.HasPrefix(reason, policy.Unchanged)}
	}
	logs, _ := g.Tasks.Logs(t)
	var said []string
	for _, l := range logs {
		if l.Kind == dag.LogUser {
			said = append(said, l.Text)
		}
	}
	if t.ExpectRed != "" {
		said = append(said, "The tests come first: when you are done, `"+t.ExpectRed+"` has to fail because of them. Do not make it pass.")
	}
	answered, _ := inbox.Answers(g, opts.Inbox.Trust, t.ID)
	unread, _ := inbox.Unread(g, t.ID, "")
	in.Answers, in.Messages = opts.Inbox.answers(answered), attempt.Messages(unread)
	in.Guidance, in.Previous = strings.Join(said, "\n\n"), previous(opts.Place.Runs, last)
	selected, err := journal.Select(g.Tx(), journal.Query{Run: run, Title: t.Title, Description: t.Description}, opts.Prompt.Recall)
	in.Journal = prompt.Document{Text: selected.Text(), From: "ralph journal list"}
	return in, err
}

const (
	maxOutputs = 20      // in a prompt
	outputSize = 8 << 10 // of each
)

// outputs are what the agents of earlier tasks said at their end, where a later one is to know it.
func outputs(g *dag.Graph, folder string, t dag.Task) (list []prompt.Output) {
	tasks, _ := g.Tasks.Outputs(t, maxOutputs) // the first error of the database is also that of what follows
	for _, b := range tasks {
		out := prompt.Output{Name: b.Output, ID: b.ID, Title: b.Title}
		attempts, _ := g.History.Attempts(b)
		for _, at := range attempts {
			if at.Outcome.Done() {
				out.Text, _ = plain.FileTail(filepath.Join(folder, at.Run, at.ID, "answer.md"), outputSize) // it may be gone by now
			}
		}
		out.Text = cmp.Or(strings.TrimSpace(strings.ToValidUTF8(out.Text, "?")), summaryOf(g, b))
		list = append(list, out)
	}
	return list
}

// summaryOf is what the agent that finished a task noted, or else its description.
func summaryOf(g *dag.Graph, t dag.Task) string {
	entries, _ := journal.List(g.Tx(), journal.Filter{Task: t.ID, Outcome: event.AttemptDone, Limit: 1})
	if len(entries) == 0 {
		return t.Description
	}
	return cmp.Or(entries[0].Notes, t.Description)
}

// previousSize is how much of an earlier answer is read; the prompt cuts further.
const previousSize = 64 << 10

// previous reads the end of what the last attempt said.
func previous(folder string, last dag.Attempt) prompt.Document {
	if last.ID == "" || folder == "" || last.Outcome.Done() {
		return prompt.Document{}
	}
	path := filepath.Join(folder, last.Run, last.ID, "answer.md")
	text, err := plain.FileTail(path, previousSize)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return prompt.Document{}
	case err != nil:
		text = "(" + err.Error() + ")"
	}
	return prompt.Document{Text: strings.ToValidUTF8(text, "?"), From: path}
}

// earlierSession is that of the last attempt that had one, if it was interrupted or ended with a question: whatever
// else came of an attempt, its session has nothing to be continued. One that was cut off before it had a session takes
// nothing from that of the attempt before it. What was before a person reset the task does not count.
func earlierSession(t dag.Task, attempts []dag.Attempt) *attempt.Earlier {
	cutOff := func(at dag.Attempt) bool { return at.Session == "" && at.Outcome.Fruitless() }
	last := attempt.History{Attempts: slices.DeleteFunc(slices.Clone(attempts), cutOff)}.Last()
	if last.Outcome != event.AttemptInterrupted && last.Outcome != event.AttemptAsked || last.StartedAt.Before(t.StartedAt) {
		return nil
	}
	e := &attempt.Earlier{Agent: last.Agent, Session: last.Session}
	for _, at := range attempts { // one that was killed could not report what it cost
		if at.Session == last.Session && at.SessionUSD != nil {
			e.CostUSD = *at.SessionUSD
		}
	}
	return e
}

// why says what decided about a model, and what would have been chosen otherwise.
func why(c strategy.Choice) string {
	if other := cmp.Or(c.Overrode, c.Uncapped); other != "" {
		return c.Reason + ", instead of " + other
	}
	return c.Reason
}

// models lists what a hint may name: the tiers, and what the agent offered the last
// time it ran. Nil leaves it to the prompt.
func models(offered []string) []string {
	if len(offered) == 0 {
		return nil
	}
	names := []string{}
	for _, tier := range strategy.Tiers() {
		names = append(names, string(tier))
	}
	for _, name := range offered {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names[:min(len(names), 20)]
}
