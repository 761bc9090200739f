package forecast

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"
)

// never is when a task ends that does not.
const never time.Duration = math.MaxInt64

// simulation is a graph that is run again and again.
type simulation struct {
	in       Input
	tasks    []int // nodes that can begin, in the order of claims
	leftOut  int
	place    []int   // of nodes in tasks; -1 for others
	next     [][]int // who waits for a node
	children [][]int // in a group
	sets     [][]int // the different locks that tasks have; the first is none
	set      []int   // of each node
	first    state   // as a run begins

	state
	samples []sample
	ends    []time.Duration
	now     time.Duration
	stopped bool
	out     outcome
	running queue
}

// state is how far a run is.
type state struct {
	waits []int   // what a node waits for
	open  []int   // what is open in a group
	over  []bool  // nodes that have ended
	bad   []bool  // nodes that have failed
	cut   []bool  // groups in which something was cancelled
	held  []int   // locks
	ready []queue // by their locks
}

// outcome is what one simulated run came to.
type outcome struct {
	end  time.Duration // of the last task
	cost float64       // until Input.Until
	done int           // until Input.Until
}

func newSimulation(in Input) *simulation {
	n := len(in.Nodes)
	s := &simulation{in: in, next: make([][]int, n), children: make([][]int, n), set: make([]int, n), place: make([]int, n), sets: [][]int{nil}}
	s.first = state{waits: make([]int, n), open: make([]int, n), over: make([]bool, n), bad: make([]bool, n), cut: make([]bool, n), held: make([]int, len(in.Locks))}
	sets := map[string]int{"[]": 0}
	for i, node := range in.Nodes {
		for _, b := range node.After {
			s.next[b] = append(s.next[b], i)
		}
		s.first.waits[i] = len(node.After)
		if node.Stuck {
			s.first.waits[i]++
		}
		if node.Parent >= 0 {
			s.first.waits[i]++
			s.children[node.Parent] = append(s.children[node.Parent], i)
			if !node.Failed {
				s.first.open[node.Parent]++
			}
		}
		s.first.over[i], s.first.bad[i], s.first.cut[i] = node.Failed, node.Failed, node.HasCancelled
		locks := fmt.Sprint(node.Locks)
		if _, known := sets[locks]; !known {
			sets[locks] = len(s.sets)
			s.sets = append(s.sets, node.Locks)
		}
		s.set[i] = sets[locks]
	}
	s.first.ready = make([]queue, len(s.sets))
	s.findTasks()
	return s
}

// findTasks runs the graph once with tasks that take no time and succeed: what does not begin then never does.
func (s *simulation) findTasks() {
	all := make([]int, 0, len(s.in.Nodes))
	for i, n := range s.in.Nodes {
		if !n.Group {
			all = append(all, i)
		}
	}
	slices.SortStableFunc(all, func(a, b int) int {
		x, y := s.in.Nodes[a], s.in.Nodes[b]
		if x.First != y.First {
			if x.First {
				return -1
			}
			return 1
		}
		return cmp.Compare(x.Priority, y.Priority)
	})
	ends := make([]time.Duration, len(all))
	s.list(all)
	s.run(make([]sample, len(all)), ends)
	var can []int
	for i, n := range all {
		if ends[i] != never {
			can = append(can, n)
		}
	}
	s.list(can)
	s.leftOut = len(all) - len(can)
}

func (s *simulation) list(tasks []int) {
	s.tasks = tasks
	for i := range s.place {
		s.place[i] = -1
	}
	for i, n := range tasks {
		s.place[n] = i
	}
}

// run runs the graph once, with what each of the tasks comes to, and says when each is done.
func (s *simulation) run(samples []sample, ends []time.Duration) outcome {
	s.samples, s.ends, s.now, s.stopped, s.out = samples, ends, 0, false, outcome{}
	s.copy(s.first)
	for i := range ends {
		ends[i] = never
	}
	for i := range s.in.Nodes {
		if s.waits[i] == 0 && s.in.Nodes[i].Parent < 0 {
			s.begin(i)
		}
	}
	free := s.in.Workers
	for {
		for ; free > 0 && !s.stopped; free-- {
			n, found := s.claim()
			if !found {
				break
			}
			s.hold(n, 1)
			s.running.push(item{int64(s.now + s.samples[s.place[n]].took), n})
		}
		e, left := s.running.pop()
		if !left {
			return s.out
		}
		s.now = time.Duration(e.key)
		if e.node < 0 { // its time has come
			s.enqueue(-1 - e.node)
			continue
		}
		free++
		s.hold(e.node, -1)
		s.settle(e.node)
	}
}

func (s *simulation) copy(from state) {
	s.waits, s.open, s.held = append(s.waits[:0], from.waits...), append(s.open[:0], from.open...), append(s.held[:0], from.held...)
	s.over, s.bad, s.cut = append(s.over[:0], from.over...), append(s.bad[:0], from.bad...), append(s.cut[:0], from.cut...)
	s.running = s.running[:0]
	if s.ready == nil {
		s.ready = make([]queue, len(from.ready))
	}
	for i := range s.ready {
		s.ready[i] = s.ready[i][:0]
	}
}

// begin is for a node that waits for nothing any more.
func (s *simulation) begin(n int) {
	node := &s.in.Nodes[n]
	switch {
	case node.Group:
		for _, c := range s.children[n] {
			s.release(c)
		}
	case s.place[n] < 0: // it can never be done, because of what is around it
	case node.NotBefore > s.now:
		s.running.push(item{int64(node.NotBefore), -1 - n})
	default:
		s.enqueue(n)
	}
}

func (s *simulation) enqueue(n int) {
	s.ready[s.set[n]].push(item{int64(s.place[n]), n})
}

func (s *simulation) release(n int) {
	if s.waits[n]--; s.waits[n] == 0 {
		s.begin(n)
	}
}

// settle ends a task.
func (s *simulation) settle(n int) {
	i := s.place[n]
	sample := s.samples[i]
	s.out.end = s.now
	in, until := !sample.failed, s.in.Until
	if until > 0 && s.now > until {
		in = false
		sample.cost *= max(1-float64(s.now-until)/float64(sample.took), 0) // as much of it as lies before
	}
	if s.out.cost += sample.cost; in {
		s.out.done++
	}
	if !sample.failed {
		s.ends[i] = s.now
	}
	if !sample.failed {
		s.end(n, done)
		return
	}
	s.stopped = s.in.FailFast
	s.end(n, failed)
}

// result is how a node ends.
type result int

const (
	done result = iota
	failed
	cancelled // nobody has to do it, and nobody who waits for it goes on
)

// end tells of the end of a node those that wait for it, and its group: that fails with the first task that fails in it, and is done
// with the last one.
func (s *simulation) end(n int, how result) {
	if s.over[n] {
		return
	}
	node := &s.in.Nodes[n]
	s.over[n], s.bad[n] = true, how == failed
	if how == failed && node.Excused {
		how = done
	}
	if how == done {
		for _, next := range s.next[n] {
			s.release(next)
		}
	}
	p := node.Parent
	if p < 0 {
		return
	}
	group := s.in.Nodes[p]
	s.cut[p] = s.cut[p] || how == cancelled
	s.open[p]--
	switch {
	case how == failed, s.open[p] == 0 && group.HasFailed:
		s.end(p, failed)
	case s.open[p] == 0 && s.cut[p]:
		s.end(p, cancelled)
	case s.open[p] == 0:
		s.end(p, done)
	}
}

// claim takes the first task that can be had, as a worker of a run does: the locks of the first one that cannot be had are kept for it.
func (s *simulation) claim() (n int, found bool) {
	for {
		set := s.choose()
		if set < 0 {
			return 0, false
		}
		e, _ := s.ready[set].pop()
		if !s.keptBack(e.node) {
			return e.node, true
		}
	}
}

// choose is the set of locks whose first task is next; -1 if there is none.
func (s *simulation) choose() int {
	if len(s.sets) == 1 {
		return min(len(s.ready[0]), 1) - 1
	}
	refused, best := -1, -1
	for i, q := range s.ready {
		if len(q) > 0 && (refused < 0 || q[0].key < s.ready[refused][0].key) && !s.available(i) {
			refused = i
		}
	}
	reserve := func(by int) {
		if refused >= 0 {
			for _, l := range s.sets[refused] {
				s.held[l] += by
			}
		}
	}
	for i, q := range s.ready {
		if len(q) == 0 || best >= 0 && s.ready[best][0].key < q[0].key || !s.available(i) {
			continue
		}
		if refused >= 0 && q[0].key > s.ready[refused][0].key {
			reserve(1)
			ok := s.available(i)
			reserve(-1)
			if !ok {
				continue
			}
		}
		best = i
	}
	return best
}

// available says whether the locks of a set can be had.
func (s *simulation) available(set int) bool {
	for _, l := range s.sets[set] {
		held := 0
		for _, other := range s.in.Locks[l].Excludes {
			held += s.held[other]
		}
		if held >= max(s.in.Locks[l].Limit, 1) {
			return false
		}
	}
	return true
}

func (s *simulation) hold(n, by int) {
	for _, l := range s.in.Nodes[n].Locks {
		s.held[l] += by
	}
}

// keptBack says that a group of a task has failed, and the run begins nothing there.
func (s *simulation) keptBack(n int) bool {
	for p := s.in.Nodes[n].Parent; p >= 0 && !s.in.KeepGoing; p = s.in.Nodes[p].Parent {
		if s.bad[p] {
			return true
		}
	}
	return false
}

// queue is a heap of nodes, the smallest key first.
type queue []item

type item struct {
	key  int64
	node int
}

func (a item) before(b item) bool { return a.key < b.key || a.key == b.key && a.node < b.node }

func (q *queue) push(e item) {
	*q = append(*q, e)
	h := *q
	for i := len(h) - 1; i > 0; {
		up := (i - 1) / 2
		if !h[i].before(h[up]) {
			break
		}
		h[i], h[up] = h[up], h[i]
		i = up
	}
}

func (q *queue) pop() (item, bool) {
	h := *q
	if len(h) == 0 {
		return item{}, false
	}
	first, last := h[0], len(h)-1
	h[0] = h[last]
	h = h[:last]
	for i := 0; ; {
		least := i
		for c := 2*i + 1; c <= 2*i+2 && c < last; c++ {
			if h[c].before(h[least]) {
				least = c
			}
		}
		if least == i {
			break
		}
		h[i], h[least] = h[least], h[i]
		i = least
	}
	*q = h
	return first, true
}
