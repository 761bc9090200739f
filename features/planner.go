package features

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"ralph/acp"
	"ralph/dag"
	"ralph/internal/git"
	"ralph/internal/human"
	"ralph/internal/plansync"
	"ralph/internal/project"
	"ralph/internal/redact"
	"ralph/prompt"
)

// NoFeature is the name under which tasks of no feature are staged. No feature can have it.
const NoFeature = ".tasks"

// Planner plans one feature.
type Planner struct {
	Name    string // of the feature; empty for tasks that belong to none
	Project project.Project
	Store   *dag.Store
	Plans   *plansync.Sync

	Model    string   // to ask the agent for; empty is its own
	Gates    []string // what ralph runs after every task
	Protect  []string // globs of what work may change only if its task names it
	Program  string   // the command that starts ralph, for agents that prefer commands
	Sections *prompt.Sections
	Spending Spending

	Templates func() []string // that a plan may name, a line each
	// Expand makes the tasks of a template, and leaves out those that the feature has if they are kept.
	Expand func(ctx context.Context, t Template, keep bool) ([]dag.Spec, error)

	Redact *redact.Redactor // hides secrets in what agents say and propose, not in documents; nil hides nothing
	Now    func() time.Time

	// Open starts an agent whose working folder is Work.
	Open func(ctx context.Context, at Opening) (Session, error)
	// Observe sees what agents do; nil if nobody looks.
	Observe func(acp.Event)
	// Ask puts a question to a person; an empty answer means that there is nothing
	// more to say. Nil means that nobody can be asked.
	Ask func(ctx context.Context, question string) (string, error)
	// Confirm shows proposed tasks and returns whether to keep them.
	Confirm func(ctx context.Context, p *Proposal) (keep bool, err error)
	// Kept is told of tasks that were kept; nil if nobody wants to know.
	Kept func(ctx context.Context, ids []string)
	// Show lets a person see a text.
	Show func(title, text string)
	// Note reports progress, Warn what a person should look at.
	Note, Warn func(format string, args ...any)

	warned map[string]bool // budgets that are nearly used up
}

// Opening says where a session is opened, and what is reported from it.
type Opening struct {
	Work    string // the agent's working folder
	Logs    string // for the transcript
	Observe func(acp.Event)
	Started func(agent string)
}

// Session is a conversation with an agent.
type Session interface {
	acp.Prompter
	Model() acp.ModelChoice
	Usage() acp.Usage
	Close() error
}

// Folder holds the feature's documents.
func (p *Planner) Folder() string { return p.Project.Feature(p.Name) }

// Path is where a document of the feature stands.
func (p *Planner) Path(name string) string { return filepath.Join(p.Folder(), name) }

// Logs is where the agents of a step leave their transcripts.
func (p *Planner) Logs(step string) string { return filepath.Join(p.step(step), "logs") }

func (p *Planner) step(name string) string {
	return filepath.Join(p.Project.Staging(), cmp.Or(p.Name, NoFeature), name)
}

// prompt takes one turn. One that says nothing is an error: agents end a turn that way
// when they are rate-limited or not logged in.
func (p *Planner) prompt(ctx context.Context, s Session, text string) (acp.Turn, error) {
	turn, err := s.Prompt(ctx, text)
	switch {
	case err != nil:
		return turn, err
	case turn.Stop == acp.StopRefusal:
		return turn, &acp.Error{Kind: acp.Refused, Op: "plan", Text: "the agent refused to answer"}
	case turn.Empty():
		return turn, &acp.Error{Kind: acp.RateLimited, Op: "plan", Text: "the agent ended its turn without a word: it may be rate-limited, or not logged in"}
	}
	return turn, nil
}

// close ends a session and reports what the agent did beside its task.
func (p *Planner) close(s Session, at *staging, given map[string]string, wanted ...string) error {
	err := s.Close()
	if strays := at.strays(given, wanted...); len(strays) > 0 {
		p.Warn("the agent also wrote %s; that is not kept", human.Few(strays))
	}
	return err
}

// guard looks at the project before an agent works; the function that it returns warns,
// once, about what has changed there since: the agent had no business to.
func (p *Planner) guard(ctx context.Context) func() {
	tasks := func(ctx context.Context) (n int) {
		_ = p.Store.View(ctx, func(g *dag.Graph) error {
			tally, err := g.Tasks.Tally(dag.Scope{})
			n = tally.Total() + tally.TotalGroups()
			return err
		})
		return n
	}
	root := p.Project.Root
	before := stamps(ctx, root)
	had := tasks(ctx)
	return sync.OnceFunc(func() {
		ctx := context.WithoutCancel(ctx)
		var changed []string
		if after := stamps(ctx, root); before != nil && after != nil { // it is only a warning
			all := maps.Clone(before)
			maps.Copy(all, after)
			for _, name := range slices.Sorted(maps.Keys(all)) {
				if before[name] != after[name] {
					changed = append(changed, name)
				}
			}
		}
		if has := tasks(ctx); has != had {
			changed = append(changed, fmt.Sprintf("the graph itself (%d tasks before, %d now)", had, has))
		}
		if len(changed) > 0 {
			p.Warn("the project changed while the agent planned, and nobody asked for that: %s", human.Few(changed))
		}
	})
}

// stamps are the sizes and times of the files that git carries or would carry; nil where git cannot say.
func stamps(ctx context.Context, root string) map[string]string {
	names, err := git.Listed(ctx, root)
	if err != nil {
		return nil
	}
	at := map[string]string{}
	for _, name := range names {
		if info, err := os.Lstat(filepath.Join(root, filepath.FromSlash(name))); err == nil {
			at[name] = fmt.Sprint(info.Size(), info.ModTime().UnixNano(), info.Mode())
		}
	}
	return at
}

// read adds a document to those that the agent is given, if it exists.
func (p *Planner) read(name string, into map[string]string) error {
	text, err := ReadDocument(p.Path(name))
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	into[name] = text
	return nil
}

// planned records that the feature is planned.
func (p *Planner) planned(ctx context.Context) error {
	return p.Store.Update(ctx, func(g *dag.Graph) error { return g.Plan.SetStage(p.Name, dag.FeaturePlanned) })
}
