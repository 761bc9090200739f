package land

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"ralph/dag"
	"ralph/internal/event"
	"ralph/internal/git"
	"ralph/internal/human"
	"ralph/internal/merge"
)

// Advance moves the branch to what has landed beyond it, if nothing of a person's is in the way any more. A branch with commits of
// its own is united with that only when no agent works: gates look at both together first.
func (l *Lander) Advance(ctx context.Context, unite bool) {
	at, waits, err := merge.Advance(ctx, l.Repo, l.Target)
	if err != nil && ctx.Err() != nil { // what is known of it stays
		return
	}
	if err == nil && at.Landed == "" {
		l.ahead.set(nil)
		return
	}
	if errors.Is(waits, merge.ErrDiverged) && err == nil && unite {
		if l.ahead.tried == at {
			return
		}
		waits, err = merge.Unite(ctx, l.Repo, l.Target, func(u merge.Union) error { return l.tryUnion(ctx, u) })
		switch conflict := new(merge.ConflictError); {
		case errors.As(err, &conflict):
			waits, err, l.ahead.tried = conflict, nil, at
		case ctx.Err() != nil:
			waits, err = merge.ErrDiverged, nil
		}
	}
	if err != nil {
		l.warn("", "move "+l.name()+" to what has landed: "+err.Error())
	}
	if l.ahead.set(l.waits(errors.Join(waits, err))); waits != nil || err != nil {
		return
	}
	now, err := merge.At(ctx, l.Repo, l.Target)
	if err == nil {
		l.ahead.move(at.Branch, now.Branch)
		l.Tell(event.Event{Type: event.TargetMoved, Merge: &event.Merge{Target: l.Target, Onto: at.Branch, Commit: now.Branch}})
	}
}

// tryUnion runs the gates on a merge of the branch and of what has landed beyond it, in a room of its own. A *merge.ConflictError says
// which one fails.
func (l *Lander) tryUnion(ctx context.Context, u merge.Union) (err error) {
	commands, err := l.unionGates(ctx, u)
	if err != nil || len(commands) == 0 {
		return err
	}
	alone, err := merge.Lock(ctx, l.Repo, "room-0")
	if err != nil {
		return err
	}
	defer alone.Close()
	room := l.Slots.Room(0) // that of no slot
	defer func() { err = errors.Join(err, l.Slots.Remove(0)) }()
	if err := room.Show(ctx, u.Branch, u.Commit); err != nil {
		return err
	}
	gates, end, err := l.Gates(room)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	log, err := os.OpenFile(filepath.Join(l.Runs, l.Run.ID, "union.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	gates.Owner, gates.Redact = l.Run.Owner, l.Redact
	for _, command := range commands {
		_, _ = io.WriteString(log, "$ "+l.Redact.Text(command)+"\n")
		l.Tell(event.Event{Type: event.GateStarted, Gate: &event.Gate{Command: command}, Reason: "on " + l.name() + " and what landed together"})
		res, err := gates.Run(ctx, command, log)
		if err != nil {
			return err
		}
		if !res.Passed {
			return &merge.ConflictError{Why: res.Why() + "; its output: " + log.Name()}
		}
	}
	return nil
}

// unionGates are the gates of every task, and those of the tasks whose work has landed beyond the branch.
func (l *Lander) unionGates(ctx context.Context, u merge.Union) ([]string, error) {
	if l.Skip {
		return nil, nil
	}
	commits, err := merge.Log(ctx, l.Repo, u.Branch, u.Landed)
	if err != nil {
		return nil, err
	}
	gates := slices.Clone(l.Checks)
	err = l.Store.View(ctx, func(g *dag.Graph) error {
		for _, c := range commits {
			t, err := g.Tasks.Get(c.Task)
			if errors.Is(err, dag.ErrNotFound) { // a merge of ours, or of another project
				continue
			}
			shared, ferr := g.Plan.FeatureGates(t.Feature)
			if err := errors.Join(err, ferr); err != nil {
				return err
			}
			for _, gate := range slices.Concat(shared, t.Gates) {
				if gate != t.ExpectRed && !slices.Contains(gates, gate) {
					gates = append(gates, gate)
				}
			}
		}
		return nil
	})
	return gates, err
}

// WaitingBranch is one that does not have all that has landed on it yet.
type WaitingBranch struct {
	Target string `json:"target"`
	event.Waits
}

// String is a line for people.
func (w WaitingBranch) String() string {
	return fmt.Sprintf("ready at %s: %s %s; then: %s", w.Ref, human.Branch(w.Target), w.Reason, w.Command)
}

// errMadeWay is what is left when nothing is in the way and no run has moved the branch yet.
var errMadeWay = errors.New("nothing is in the way any more")

// WaitingBranches finds them, and touches nothing.
func WaitingBranches(ctx context.Context, repo *git.Repo) ([]WaitingBranch, error) {
	targets, err := merge.Beyond(ctx, repo)
	list := []WaitingBranch{}
	for _, target := range targets {
		at, waits, werr := merge.Waits(ctx, repo, target)
		if err = errors.Join(err, werr); werr != nil || at.Landed == "" {
			continue
		}
		w := Options{Repo: repo, Target: target}.waits(cmp.Or(waits, errMadeWay))
		list = append(list, WaitingBranch{target, *w})
	}
	return list, err
}

// waits is what keeps the branch from what has landed beyond it, in words that follow its name; nil for nothing.
func (o Options) waits(cause error) *event.Waits {
	if cause == nil {
		return nil
	}
	w := &event.Waits{Ref: merge.LandedRef(o.Target), Command: "ralph merge"}
	if !o.Repo.Private() {
		w.Command += " --target " + o.name()
	}
	var blocked *merge.BlockedError
	var conflict *merge.ConflictError
	switch {
	case errors.As(cause, &blocked) && len(blocked.Files) > 0:
		if w.Reason = "waits for your " + human.Few(blocked.Files); blocked.Dir != o.Repo.Dir() {
			w.Reason += " in " + blocked.Dir
		}
	case errors.As(cause, &blocked):
		w.Reason = "waits: " + blocked.Error()
	case errors.As(cause, &conflict), errors.Is(cause, merge.ErrUnder):
		w.Reason, w.Command = "waits for you: "+cause.Error(), git.Typed(o.Repo.Dir())+" merge "+w.Ref
	default:
		w.Reason = "waits: " + cause.Error()
	}
	return w
}

// ahead is what keeps the branch from work that has landed beyond it; nothing most of the time.
type ahead struct {
	mu    sync.Mutex
	waits *event.Waits
	tried merge.Place // whose two sides do not go together
	polls int         // since the last look
	moved [2]string   // where the branch was, and where the run moved it
}

func (a *ahead) move(from, to string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.moved = [2]string{from, to}
}

func (a *ahead) set(w *event.Waits) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.waits = w
}

func (a *ahead) last() (waits *event.Waits, moved [2]string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.waits, a.moved
}

// patience is how many polls there are at most between two looks at a checkout that is in the way: each
// costs as much as two git status.
const patience = 5

// due says that the branch waits, and may be looked at again.
func (a *ahead) due() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.polls = (a.polls + 1) % patience
	return a.waits != nil && a.polls == 0
}
