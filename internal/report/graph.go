package report

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"

	"ralph/dag"
	"ralph/internal/human"
	"ralph/internal/render"
	"ralph/internal/seq"
)

// GraphOptions say what of a project's graph is drawn.
type GraphOptions struct {
	Scope dag.Scope
	Whole bool // not only what is running, failed or asks, and what is beside it
	Fold  bool // outermost groups are one box each; without it only if all tasks are too many
	Now   time.Time
	Href  func(task string) string
	Open  func(dag.Scope) string // where what is in a box is shown
}

// Graph is a picture of a project's tasks as they are now.
type Graph struct {
	SVG    template.HTML // html/template has made it
	Note   string        // what it shows, if that is not everything
	Tasks  int
	Groups bool // there are some
	Folded bool
}

// graphBoxes is how many boxes a picture of a page has that has to be light.
const graphBoxes = 350

// LoadGraph draws tasks. Too many of them are drawn as their groups, and too many of those as their features.
func LoadGraph(g *dag.Graph, o GraphOptions) (out Graph, err error) {
	tasks, _ := g.Tasks.In(o.Scope)
	edges, _ := g.Tasks.Edges()
	if err := g.Tx().Err(); err != nil || len(tasks) == 0 {
		return out, err
	}
	out.Tasks = len(tasks)
	if len(tasks) <= readable {
		o.Whole = true // and it is read at once
	}
	out.Groups = slices.ContainsFunc(tasks, func(t dag.Task) bool { return t.Children > 0 && t.ID != o.Scope.Task })
	f := folder{GraphOptions: o, byID: seq.Index(tasks, func(t dag.Task) string { return t.ID })}
	f.choose(tasks)
	r := f.run(tasks, edges)
	flow := flowOf(r)
	p := picture{}
	switch {
	case !o.Whole:
		p = r.now(flow)
		out.Note = fmt.Sprintf("%d of %s: %s. +N in a box counts neighbours that are not shown.", len(p.nodes), human.Count(len(tasks), "task"), p.words)
	case len(r.Tasks) > graphBoxes:
		p = r.draw(flow, seq.Set(r.Tasks[:graphBoxes], func(t Task) string { return t.ID }))
		out.Note = fmt.Sprintf("%d boxes are too many to be drawn: these are the first %d. Choose a feature.", len(r.Tasks), graphBoxes)
	default:
		p = r.draw(flow, r.all())
		if len(r.Tasks) < len(tasks) {
			out.Note = fmt.Sprintf("%s in %d boxes: %s are folded, and open when you choose one.", human.Count(len(tasks), "task"), len(r.Tasks), f.folds)
		}
	}
	out.Folded = f.Fold || f.features
	drawn := r.svg(p, "graph", len(p.nodes) > lightAbove)
	drawn.MinW = 0
	tmpl, err := (&page{}).template()
	if err != nil {
		return out, err
	}
	var b strings.Builder
	err = tmpl.ExecuteTemplate(&b, "graph", drawn)
	out.SVG = template.HTML(b.String())
	return out, err
}

// folder puts tasks into the boxes that stand for them.
type folder struct {
	GraphOptions
	byID     map[string]dag.Task
	features bool   // tasks are folded to their features
	folds    string // what is folded, in words
}

// choose folds as much as is needed.
func (f *folder) choose(tasks []dag.Task) {
	boxes := func() int { return len(seq.Set(tasks, func(t dag.Task) string { return f.box(t).String() })) }
	f.folds, f.Fold = "groups", f.Whole && (f.Fold || boxes() > graphBoxes)
	if f.Fold && f.Scope == (dag.Scope{}) && boxes() > graphBoxes {
		f.features, f.folds = true, "features"
	}
}

// box is what stands for a task: itself, its outermost group in scope, or its feature.
func (f *folder) box(t dag.Task) dag.Scope {
	if f.features {
		return dag.Scope{Feature: t.Feature}
	}
	for up, known := f.byID[t.Parent]; f.Fold && known && up.ID != f.Scope.Task; up, known = f.byID[up.Parent] {
		t = up
	}
	return dag.Scope{Task: t.ID}
}

// run makes the boxes, with what leads to each.
func (f *folder) run(tasks []dag.Task, edges []dag.Edge) Run {
	r := Run{index: map[string]int{}}
	counts := map[string]map[string]int{}
	home := make(map[string]string, len(tasks))
	for _, t := range tasks {
		box, s := f.box(t), f.state(t)
		id := cmp.Or(box.Task, "feature "+box.Feature)
		home[t.ID] = id
		i, known := r.index[id]
		if !known {
			i = len(r.Tasks)
			r.index[id] = i
			r.Tasks = append(r.Tasks, Task{ID: id, Title: cmp.Or(t.Feature, "(no feature)"), href: f.Open(box)})
			counts[id] = map[string]int{}
		}
		if id == t.ID && (!f.Fold || t.Children == 0 || id == f.Scope.Task) {
			r.Tasks[i] = Task{ID: id, Title: render.Line(t.Title), Feature: t.Feature, Parent: t.Parent, Group: t.Children > 0, Status: t.Status, live: &s, href: f.Href(id)}
			continue
		}
		if id == t.ID {
			r.Tasks[i].Title, r.Tasks[i].Parent = render.Line(t.Title), t.Parent
		}
		if t.Children == 0 {
			counts[id][s.Word]++
		}
	}
	for i, t := range r.Tasks {
		if t.Parent != "" {
			r.Tasks[i].Parent = home[t.Parent]
		}
		if t.live == nil {
			r.Tasks[i].live, r.Tasks[i].facts = together(counts[t.ID])
			r.Tasks[i].Status = map[string]dag.Status{"failed": dag.Failed, "running": dag.InProgress}[r.Tasks[i].live.Word]
		}
	}
	seen := map[[2]string]bool{}
	for _, e := range edges {
		from, to := home[e.Blocker], home[e.Blocked]
		between := [2]string{min(from, to), max(from, to)}
		if from == "" || from == to || seen[between] {
			continue
		}
		if i, known := r.index[to]; known {
			seen[between] = true
			r.Tasks[i].After = append(r.Tasks[i].After, from)
		}
	}
	return r
}

// liveStates are how tasks stand, those first that say most about a box of several.
var liveStates = []state{
	{"failed", "failed", "✗"},
	{"asks", "again", "?"},
	{"running", "running", "▶"},
	{"ready", "open", "○"},
	{"waits", "waiting", "◌"},
	{"blocked", "waiting", "◌"},
	{"done", "done", "✓"},
	{"cancelled", "old", "–"},
}

func (f *folder) state(t dag.Task) state {
	word := "waits"
	switch {
	case t.Status == dag.Done, t.Status == dag.Failed, t.Status == dag.Blocked, t.Status == dag.Cancelled:
		word = string(t.Status)
	case t.Asks > 0:
		word = "asks"
	case t.Status == dag.InProgress:
		word = "running"
	case t.Ready(f.Now):
		word = "ready"
	}
	return liveStates[slices.IndexFunc(liveStates, func(s state) bool { return s.Word == word })]
}

// together is how a box of several tasks stands, and how many of them stand how.
func together(counts map[string]int) (*state, string) {
	s, words := liveStates[3], []string{}
	for _, l := range slices.Backward(liveStates) {
		if n := counts[l.Word]; n > 0 {
			s, words = l, append(words, fmt.Sprintf("%d %s", n, l.Word))
		}
	}
	return &s, strings.Join(words, " · ")
}

// now chooses what people want to see of a project at work.
func (r Run) now(f flow) picture {
	is := func(words ...string) func(Task) bool {
		return func(t Task) bool { return !t.Group && slices.Contains(words, t.live.Word) }
	}
	chosen, words := r.choose(is("running"), is("asks"), is("failed")), "what is running, asks or failed, and what is beside it"
	if len(chosen) == 0 {
		chosen, words = r.choose(is("ready")), "what can run next, and what is beside it"
	}
	if len(chosen) == 0 {
		chosen, words = r.choose(is("waits", "blocked")), "what waits, and what is beside it"
	}
	if len(chosen) == 0 {
		chosen, words = r.choose(func(Task) bool { return true }), "the first tasks"
	}
	p := r.draw(f, r.beside(f, chosen))
	p.words = words
	return p
}
