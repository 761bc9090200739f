package report

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"ralph/dag"
	"ralph/internal/event"
	"ralph/internal/render"
	"ralph/internal/seq"
	"ralph/journal"
)

// Options are what a report needs besides the graph.
type Options struct {
	Root string                     // of the project
	Runs string                     // the folder of all runs
	Run  string                     // a full ID
	Life func(dag.Process) dag.Life // whether a process lives; nil means that nobody knows
	Now  func() time.Time
	Zone *time.Location              // in which people read times
	Kept map[string]string           // the refs of work that did not land, by attempt
	Spec func(feature string) string // the specification of a feature; nil if nobody can read any
}

// Load reads one run. The graph is read in one snapshot; files are read afterwards,
// and what is missing there is missing in the report, no more.
func Load(ctx context.Context, store *dag.Store, opts Options) (Run, error) {
	var s snapshot
	err := store.View(ctx, func(g *dag.Graph) (err error) { s, err = opts.look(g); return err })
	if err != nil {
		return Run{}, err
	}
	return s.assemble(opts), nil
}

// LoadIn is Load for who has a snapshot already.
func LoadIn(g *dag.Graph, opts Options) (Run, error) {
	s, err := opts.look(g)
	if err != nil {
		return Run{}, err
	}
	return s.assemble(opts), nil
}

func (o Options) look(g *dag.Graph) (s snapshot, err error) {
	if s, err = look(g, o.Run); err == nil {
		s.criteria = criteriaOf(g, s.scope, o.Spec)
		s.work, err = g.Queue.Work(s.run.ID, o.Kept)
	}
	if err != nil {
		err = fmt.Errorf("read run %s: %w", o.Run, err)
	}
	return s, err
}

// snapshot is what the database holds about a run.
type snapshot struct {
	run      dag.Run
	receipts []dag.Receipt
	scope    []dag.Task
	all      map[string]dag.Task
	edges    []dag.Edge
	failures map[string]string
	left     map[string]string        // why tasks are blocked
	journal  map[string]journal.Entry // by attempt
	end      time.Time                // of the run; if it died, when it was last heard of
	own      int                      // iterations
	earlier  []dag.Receipt            // of the runs that it continues
	before   time.Duration            // that those took
	work     event.Work
	criteria []Criteria
	forecast *dag.Forecast
	keeps    bool // a failed task does not keep back the rest of its group
}

// look reads on after an error of the database: the first one ends the transaction, whatever is read then.
func look(g *dag.Graph, id string) (s snapshot, err error) {
	s.keeps = g.KeepsGoing()
	if s.run, err = g.History.ResolveRun(id); err != nil {
		return s, err
	}
	s.scope, _ = g.Tasks.In(dag.Scope{})
	s.all = make(map[string]dag.Task, len(s.scope))
	for _, t := range s.scope {
		t.Description = "" // nothing here needs it, and it may be long
		s.all[t.ID] = t
	}
	if s.run.Scope != (dag.Scope{}) {
		s.scope, _ = g.Tasks.In(s.run.Scope)
	}
	s.receipts, _ = g.History.Receipts(dag.ReceiptFilter{Run: s.run.ID})
	s.edges, _ = g.Tasks.Edges()
	s.failures, _ = g.Tasks.Failures()
	s.left = map[string]string{}
	for _, t := range s.scope {
		if t.Status == dag.Blocked && t.When != nil {
			s.left[t.ID], _ = g.Tasks.WhyLeft(t)
		}
	}
	s.journal = journalOf(g, s.run.ID)
	s.forecast, _ = g.History.ForecastOf(s.run.ID)
	return s, s.lookBack(g)
}

// journalOf is the journal of one run or of all, by attempt.
func journalOf(g *dag.Graph, run string) map[string]journal.Entry {
	list, _ := journal.List(g.Tx(), journal.Filter{Run: run})
	return seq.Index(list, func(e journal.Entry) string { return e.Attempt })
}

// lookBack follows the run to those that it continues.
func (s *snapshot) lookBack(g *dag.Graph) error {
	s.own, _ = g.History.OwnIterations(s.run.ID)
	s.before, _, _ = g.History.RunSpan(s.run.Continues)
	for id := s.run.Continues; id != ""; {
		run, err := g.History.ResolveRun(id)
		if err != nil {
			return err
		}
		receipts, _ := g.History.Receipts(dag.ReceiptFilter{Run: run.ID})
		s.earlier, id = append(s.earlier, receipts...), run.Continues
	}
	return g.Tx().Err()
}

// together adds the runs that it continues to a run.
func (s snapshot) together(r Run) *Together {
	if s.run.Continues == "" {
		return nil
	}
	t := Together{Continues: s.run.Continues, Iterations: s.run.Iterations, Duration: s.before + r.Duration, Usage: r.Usage}
	for _, receipt := range s.earlier {
		t.Usage = t.Usage.plus(usageOf(receipt))
	}
	return &t
}

func (s snapshot) assemble(opts Options) Run {
	r := Run{
		ID: s.run.ID, StartedAt: s.run.StartedAt, EndedAt: s.run.EndedAt, Reason: s.run.Reason,
		Iterations: s.own, Root: opts.Root, Folder: filepath.Join(opts.Runs, s.run.ID), Zone: opts.Zone,
		index: map[string]int{},
	}
	r.Scope, r.Target = s.scopeWords()
	r.Criteria = s.criteria
	r.Outcome, s.end = standing(s.run, s.receipts, opts.Life, opts.Now())
	r.Duration = max(s.end.Sub(r.StartedAt), 0)
	log := readEvents(filepath.Join(r.Folder, "events.jsonl"))
	r.Setup, r.Warnings, r.Unread = log.setup, log.warnings, log.err
	r.Work = s.landed(log.setup)
	if !s.run.PrunedAt.IsZero() {
		r.Pruned, r.Unread = true, ""
		r.Warnings = append(r.Warnings, "the files of this run were removed by ralph gc on "+s.run.PrunedAt.In(opts.Zone).Format(time.DateOnly)+": what only they held is gone")
	}
	s.attempts(&r, log, opts.Now())
	s.tasks(&r)
	r.count(log)
	for _, t := range r.Tasks {
		if t.Verified {
			r.Verified++
		}
	}
	r.Models = Spend(Split(s.receipts), headings[ByModel])
	r.Usage = Total(r.Models).Usage
	r.Together = s.together(r)
	r.Forecast = s.accuracy(r)
	s.explain(&r)
	return r
}

// landed is where the work of a run ended up; nil if its agents did not work in slots.
func (s snapshot) landed(setup *event.Setup) *event.Work {
	if setup != nil {
		s.work.Target = cmp.Or(s.work.Target, setup.Target)
	}
	if s.work.Target == "" {
		return nil
	}
	return &s.work
}

// NoModel stands for the model of an attempt whose model nobody reported. It is a value in
// JSON, so its wording stays.
const NoModel = "(not told)"

func (s snapshot) scopeWords() (words, target string) {
	scope := s.run.Scope
	words = scope.String()
	if t, ok := s.all[scope.Task]; ok {
		words += ": " + render.Line(t.Title)
	}
	return words, cmp.Or(scope.Task, scope.Feature, scope.Tag)
}

// standing is how a run ended and when, or how it stands: one that died ended when it was last
// heard of.
func standing(run dag.Run, receipts []dag.Receipt, life func(dag.Process) dag.Life, now time.Time) (event.RunOutcome, time.Time) {
	switch {
	case !run.EndedAt.IsZero():
		return run.Outcome, run.EndedAt
	case life == nil || life(run.Process) != dag.Dead:
		return event.OutcomeRunning, now
	}
	heard := run.StartedAt
	for _, r := range receipts {
		heard = latest(heard, r.StartedAt, r.EndedAt)
	}
	return event.OutcomeDied, heard
}

func latest(times ...time.Time) time.Time {
	return slices.MaxFunc(times, time.Time.Compare)
}

func (s snapshot) attempts(r *Run, log events, now time.Time) {
	tries := map[string]int{}
	for _, a := range s.receipts {
		tries[a.Task]++
		entry, ended := s.journal[a.ID], log.attempts[a.ID]
		out := Attempt{
			Receipt: a, Nth: tries[a.Task], Status: ended.status, Gates: gatesOf(a.GatesJSON), Notes: entry.Notes, Usage: usageOf(a),
			Evidence: evidence(filepath.Join(r.Folder, a.ID)),
		}
		out.Title = render.Line(cmp.Or(a.Title, entry.Title, ended.title, a.Task))
		if len(out.Gates) == 0 {
			out.Gates = ended.gates
		}
		end := a.EndedAt
		if end.IsZero() {
			end = now
			if r.Over() {
				out.Outcome = event.AttemptInterrupted // it died with its run
				end = a.StartedAt
			}
		}
		out.Duration = max(end.Sub(a.StartedAt), 0)
		r.Attempts = append(r.Attempts, out)
	}
}

// count counts the tasks in scope: as the run did at its end, or by what is known.
func (r *Run) count(log events) {
	if log.counts != nil && !r.EndedAt.IsZero() {
		r.Counts = *log.counts
		return
	}
	for _, t := range r.Tasks {
		if t.Group {
			continue
		}
		switch t.Status {
		case dag.Done:
			r.Counts.Done++
		case dag.Failed:
			r.Counts.Failed++
		case dag.Cancelled:
			r.Counts.Cancelled++
		case event.TaskDeleted:
			continue
		default:
			r.Counts.Remaining++
		}
		r.Counts.Total++
	}
}

// Bare is the report, at that time, of a run of which nothing but its outcome is
// known: it could not begin, or what it stored cannot be read.
func Bare(out event.Result, scope dag.Scope, at time.Time) Run {
	r := Run{
		ID: out.Run, Scope: scope.String(), Target: cmp.Or(scope.Task, scope.Feature, scope.Tag), Outcome: out.Outcome, Reason: out.Reason, Iterations: out.Iterations,
		Counts: out.Counts, StartedAt: at.Add(-out.Duration), EndedAt: at, Duration: out.Duration, Zone: time.UTC, index: map[string]int{},
	}
	for _, t := range out.Tasks {
		if t.Status != dag.Failed {
			continue
		}
		f := Failure{Task: t.ID, Title: render.Line(t.Title), Attempts: t.Attempts, Gate: gateInReason(t.Reason), Now: t.Status, Rejected: t.Rejected}
		f.Reason, f.Detail = head(t.Reason)
		f.Next = f.steps(r.ID)
		r.Failures = append(r.Failures, f)
	}
	if r.Outcome != event.OutcomeNotStarted {
		r.Next = r.steps()
	}
	return r
}
