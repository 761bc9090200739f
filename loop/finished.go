package loop

import (
	"cmp"
	"context"
	"encoding/json"
	"os"
	"path/filepath"

	"ralph/acp"
	"ralph/dag"
	"ralph/event"
	"ralph/loop/policy"
	"ralph/sigils"
	"ralph/strategy"
	"ralph/verify"
)

// finished is what verification needs of an attempt whose agent says that it is
// done. It is kept in the attempt's folder, so that another run can verify the work
// if this one dies.
type finished struct {
	Set      sigils.Set               `json:"set"`
	Stop     string                   `json:"stop"`
	Evident  bool                     `json:"evident"`
	Baseline map[string]verify.Result `json:"baseline"` // what the gates said before the work
}

const finishedFile = "finished.json"

// keepFinished stores what verification needs. It is in place whole or not at all,
// and before the attempt's phase says so.
func (a *attempt) keepFinished() error {
	f := finished{Set: a.set, Stop: string(a.stop), Baseline: map[string]verify.Result{}, Evident: a.session != nil && a.session.Evident()}
	commands, _ := a.commands()
	for _, command := range commands {
		if res := a.known(command); res != nil {
			f.Baseline[command] = *res
		}
	}
	data, err := json.Marshal(f)
	if err != nil {
		return err
	}
	path := filepath.Join(a.folder, finishedFile)
	if err := os.WriteFile(path+".tmp", data, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".tmp", path)
}

// known is what a gate said before the work, nil if nobody knows.
func (a *attempt) known(command string) *verify.Result {
	if res, ok := a.base.Gates[command]; ok {
		return &res
	}
	if a.resumed != nil {
		if res, ok := a.resumed.Baseline[command]; ok {
			return &res
		}
		return nil
	}
	a.gated.mu.Lock()
	defer a.gated.mu.Unlock()
	if res, ok := a.gated.results[command]; ok {
		return &res
	}
	return nil
}

// takeUp reads what the attempt left that this one resumes, and says whether that
// can be verified.
func (a *attempt) takeUp() bool {
	old := a.claim.Resumed
	data, err := os.ReadFile(filepath.Join(a.opts.Folder, old.Run, old.ID, finishedFile))
	var f finished
	if err == nil {
		err = json.Unmarshal(data, &f)
	}
	if err != nil {
		a.bus.warn(a.claim.Task.ID, "the finished work of "+old.ID+" cannot be verified alone, so the agent is run again: "+err.Error())
		return false
	}
	a.resumed, a.set, a.stop = &f, f.Set, acp.StopReason(f.Stop)
	a.agent, a.model = old.Agent, old.ModelEffective
	tier, _ := strategy.ParseTier(old.Model)
	a.choice = strategy.Choice{Model: old.Model, Tier: tier}
	return true
}

// resume verifies what an attempt left when its run died. No agent is run again.
func (a *attempt) resume(ctx context.Context) (policy.Decision, error) {
	old := a.claim.Resumed
	a.facts.Session.None = true
	a.before = a.look(ctx)
	a.bus.emit(event.Event{
		Type: event.TaskClaimed, Iteration: a.iteration, Task: a.claim.Task.ID, Attempt: a.claim.Attempt, Title: a.claim.Task.Title,
		Agent: cmp.Or(old.Agent, a.opts.Setup.Agent), Model: old.Model, Counts: a.counts(ctx),
		Reason: "its work was finished by attempt " + old.ID + " and is only verified",
	})
	a.note(ctx, dag.Note{Phase: dag.Answered, Agent: old.Agent, Model: old.Model, ModelEffective: old.ModelEffective, Base: old.Base, Tree: old.Tree, TreeAfter: old.TreeAfter})
	if err := a.begin(ctx); err != nil {
		return a.unprepared(ctx, err)
	}
	if err := a.share(ctx); err != nil {
		return a.unprepared(ctx, err)
	}
	return a.verify(ctx), nil
}

// since lists the files that differ between two trees.
func (a *attempt) since(ctx context.Context, from, to string) []string {
	if from == "" || to == "" || from == to {
		return nil
	}
	changes, err := a.compare(ctx, from, to)
	if err != nil {
		return nil // it is only for the record; verification compares, too
	}
	var files []string
	for _, c := range changes {
		files = append(files, c.Path)
	}
	return files
}
