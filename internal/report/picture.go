package report

import (
	"cmp"
	"maps"
	"slices"

	"ralph/dag"
	"ralph/internal/seq"
)

// picture is a part of the graph, ready to be drawn.
type picture struct {
	nodes  []node
	arrows []arrow
	whole  bool // nothing was left out
	words  string
}

// node is one box: a task, a group, or the point where a group begins.
type node struct {
	task   Task
	point  bool
	hidden int // neighbours that are not drawn
}

// How many boxes people can read at once, and how many a browser should draw.
const (
	readable    = 40
	atMost      = 60
	nearEach    = 6
	wholeAtMost = 2500
)

// flow is the graph as a run sees it. A group is where its subtasks come together:
// they lead to it, and what it waits for leads to them.
type flow struct {
	next, before map[string][]string
}

func flowOf(r Run) flow {
	f := flow{next: map[string][]string{}, before: map[string][]string{}}
	link := func(from, to string) {
		f.next[from] = append(f.next[from], to)
		f.before[to] = append(f.before[to], from)
	}
	children := r.children()
	follows, leads := innerLinks(r, children)
	for _, t := range r.Tasks {
		if _, in := r.index[t.Parent]; in && !leads[t.ID] {
			link(t.ID, t.Parent)
		}
		if len(t.After) == 0 {
			continue
		}
		var start []string
		for _, s := range leaves(children, t.ID, 0) {
			if s == t.ID || !follows[s] {
				start = append(start, s)
			}
		}
		if len(start) > 1 && len(t.After) > 1 {
			for _, s := range start {
				link(beginning+t.ID, s)
			}
			start = []string{beginning + t.ID}
		}
		for _, b := range t.After {
			for _, s := range start {
				link(b, s)
			}
		}
	}
	return f
}

// innerLinks says which tasks follow or lead to another one of their own group: what
// leads to the group need not be drawn to the former, nor the latter to the group.
func innerLinks(r Run, children map[string][]string) (follows, leads map[string]bool) {
	follows, leads = map[string]bool{}, map[string]bool{}
	for _, t := range r.Tasks {
		for _, b := range t.After {
			if t.Parent == "" || r.Task(b).Parent != t.Parent {
				continue
			}
			leads[b] = true
			for _, l := range leaves(children, t.ID, 0) {
				follows[l] = true
			}
		}
	}
	return follows, leads
}

// beginning marks the point where a group begins, for groups that wait for several
// tasks: each of them would lead to each subtask otherwise.
const beginning = "begin "

func leaves(children map[string][]string, id string, deep int) []string {
	if len(children[id]) == 0 || deep > 100 {
		return []string{id}
	}
	return slices.Concat(seq.Map(children[id], func(c string) []string { return leaves(children, c, deep+1) })...)
}

// draw makes a picture of the tasks that are chosen.
func (r Run) draw(f flow, chosen map[string]bool) picture {
	var p picture
	at := map[string]int{}
	put := func(id string, n node) {
		at[id] = len(p.nodes)
		p.nodes = append(p.nodes, n)
	}
	for _, t := range r.Tasks {
		if chosen[t.ID] {
			put(t.ID, node{task: t})
		}
	}
	for _, t := range r.Tasks {
		if chosen[t.ID] && len(f.next[beginning+t.ID]) > 0 {
			put(beginning+t.ID, node{task: t, point: true})
		}
	}
	for i := range p.nodes {
		id := p.nodes[i].task.ID
		if p.nodes[i].point {
			id = beginning + id
		}
		for _, to := range f.next[id] {
			if j, drawn := at[to]; drawn {
				p.arrows = append(p.arrows, arrow{i, j})
			} else {
				p.nodes[i].hidden++
			}
		}
		for _, from := range f.before[id] {
			if _, drawn := at[from]; !drawn {
				p.nodes[i].hidden++
			}
		}
	}
	return p
}

func (r Run) all() map[string]bool {
	return seq.Set(r.Tasks, func(t Task) string { return t.ID })
}

// focus chooses what people want to see first: what ran and what failed, with its
// neighbours; of a large run what failed, runs or had to be tried again.
func (r Run) focus(f flow) picture {
	if len(r.Tasks) <= readable {
		p := r.draw(f, r.all())
		p.whole = true
		return p
	}
	failed := func(t Task) bool { return t.Status == dag.Failed && !t.Group }
	running := func(t Task) bool { return t.Status == dag.InProgress }
	again := func(t Task) bool { return len(t.Attempts) > 1 }
	words := "what failed, what was tried again, and what is beside it"
	chosen := r.choose(failed, running, again)
	if ran := r.choose(func(t Task) bool { return t.Ran() || failed(t) }); len(ran) <= readable {
		chosen, words = ran, "what ran, what failed, and what is beside it"
	}
	if len(chosen) == 0 {
		chosen = r.choose(r.longest(readable / 4))
		words = "what took longest, and what is beside it"
	}
	if len(chosen) == 0 {
		chosen, words = r.choose(func(Task) bool { return true }), "the first tasks"
	}
	p := r.draw(f, r.beside(f, chosen))
	p.words = words
	return p
}

// choose takes tasks by the first test that they pass, until there are enough.
func (r Run) choose(tests ...func(Task) bool) map[string]bool {
	chosen := map[string]bool{}
	for _, test := range tests {
		for _, t := range r.Tasks {
			if len(chosen) <= readable && test(t) {
				chosen[t.ID] = true
			}
		}
	}
	return chosen
}

// longest tests whether a task is one of those that took longest.
func (r Run) longest(n int) func(Task) bool {
	ran := r.ran()
	slices.SortStableFunc(ran, func(a, b Task) int { return cmp.Compare(r.took(b), r.took(a)) })
	in := seq.Set(ran[:min(n, len(ran))], func(t Task) string { return t.ID })
	return func(t Task) bool { return in[t.ID] }
}

// beside adds neighbours, a few of each, as long as all of it can be read.
func (r Run) beside(f flow, chosen map[string]bool) map[string]bool {
	out := maps.Clone(chosen)
	for _, t := range r.Tasks {
		if !chosen[t.ID] {
			continue
		}
		for _, list := range [][]string{f.before[t.ID], f.next[t.ID]} {
			for _, id := range list[:min(len(list), nearEach)] {
				if _, task := r.index[id]; task && len(out) < atMost {
					out[id] = true
				}
			}
		}
	}
	return out
}
