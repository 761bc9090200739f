package merge

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ralph/internal/testing/check"
	_ "ralph/internal/testing/seeded" // the same values each time
)

func TestNext(t *testing.T) {
	t.Parallel()
	const tip = "T"
	e := func(onto, candidate string, s State) Entry { return Entry{Onto: onto, Candidate: candidate, State: s} }
	fresh := Entry{State: Building}
	aside := func(e Entry) Entry { e.Aside = true; return e }
	build := func(onto string) Step { return Step{Do: DoBuild, Onto: onto} }
	do := func(a Action) Step { return Step{Do: a} }
	for name, c := range map[string]struct {
		me     Entry
		ahead  []Entry
		window int
		want   Step
	}{
		"the first builds on the tip":                    {me: fresh, want: build(tip)},
		"one that turned out risky goes to the tip":      {me: aside(e("c1", "c2", Green)), ahead: []Entry{e(tip, "c1", Green)}, want: build(tip)},
		"and nothing stays on it":                        {me: e("c1", "c2", Green), ahead: []Entry{aside(e(tip, "c1", Green))}, want: build(tip)},
		"the next builds on the one ahead":               {me: fresh, ahead: []Entry{e(tip, "c1", Testing)}, want: build("c1")},
		"on the last one ahead":                          {me: fresh, ahead: []Entry{e(tip, "c1", Green), e("c1", "c2", Building)}, want: build("c2")},
		"not on one that is red":                         {me: fresh, ahead: []Entry{e(tip, "c1", Testing), e("c1", "c2", Red)}, want: build("c1")},
		"nor on what lies on it":                         {me: e("c2", "c3", Green), ahead: []Entry{e(tip, "c1", Testing), e("c1", "c2", Red)}, want: build("c1")},
		"nor on one that conflicts":                      {me: fresh, ahead: []Entry{e(tip, "c1", Testing), e("c1", "", Conflict)}, want: build("c1")},
		"waits for one ahead that has to be built":       {me: fresh, ahead: []Entry{fresh}, want: do(DoWait)},
		"waits for one ahead that has to be built again": {me: fresh, ahead: []Entry{e("gone", "c1", Green)}, want: do(DoWait)},
		"one that is landing counts as the tip":          {me: fresh, ahead: []Entry{e("before", tip, Green)}, want: build(tip)},
		"a candidate is tested":                          {me: e(tip, "c", Building), want: do(DoTest)},
		"also on that of another":                        {me: e("c1", "c", Building), ahead: []Entry{e(tip, "c1", Testing)}, want: do(DoTest)},
		"not beyond the window":                          {me: e("c1", "c", Building), ahead: []Entry{e(tip, "c1", Testing)}, window: 1, want: do(DoWait)},
		"nor built":                                      {me: fresh, ahead: []Entry{e(tip, "c1", Testing)}, window: 1, want: do(DoWait)},
		"what is tested leaves the window":               {me: fresh, ahead: []Entry{e(tip, "c1", Green), e("c1", "c2", Testing)}, window: 2, want: build("c2")},
		"what has to be tested again is in the window":   {me: e(tip, "c", Building), ahead: []Entry{e("gone", "c1", Green)}, window: 1, want: do(DoWait)},
		"a test in progress goes on":                     {me: e(tip, "c", Testing), want: do(DoWait)},
		"green on the tip lands":                         {me: e(tip, "c", Green), want: do(DoLand)},
		"also past one that waits":                       {me: e(tip, "c", Green), ahead: []Entry{e("gone", "", Conflict)}, want: do(DoLand)},
		"green on another waits":                         {me: e("c1", "c", Green), ahead: []Entry{e(tip, "c1", Testing)}, want: do(DoWait)},
		"red on the tip is rejected":                     {me: e(tip, "c", Red), want: do(DoReject)},
		"red on another waits":                           {me: e("c1", "c", Red), ahead: []Entry{e(tip, "c1", Green)}, want: do(DoWait)},
		"a conflict with the tip is resolved":            {me: e(tip, "", Conflict), want: do(DoResolve)},
		"a conflict with another waits":                  {me: e("c1", "", Conflict), ahead: []Entry{e(tip, "c1", Green)}, want: do(DoWait)},
		"the one below was dropped: test in progress":    {me: e("c1", "c", Testing), want: build(tip)},
		"the one below was dropped: green":               {me: e("c1", "c", Green), want: build(tip)},
		"the one below was dropped: red":                 {me: e("c1", "c", Red), want: build(tip)},
		"the one below was dropped: conflict":            {me: e("c1", "", Conflict), want: build(tip)},
		"the one below was built again":                  {me: e("c1", "c", Green), ahead: []Entry{e(tip, "c1'", Testing)}, want: build("c1'")},
		"somebody committed to the target":               {me: e("before", "c", Green), want: build(tip)},
		"work that is there already lands on its turn":   {me: e(tip, tip, Green), want: do(DoLand)},
		"and what is behind it goes by the tip":          {me: e(tip, "c", Green), ahead: []Entry{e(tip, tip, Testing)}, want: do(DoLand)},
		"a build that was interrupted starts again":      {me: e(tip, "", Building), want: build(tip)},
		"what waits for a person lies on the tip":        {me: aside(fresh), ahead: []Entry{e(tip, "c1", Testing)}, want: build(tip)},
		"and does not wait for what has to be built":     {me: aside(fresh), ahead: []Entry{fresh}, want: build(tip)},
		"but is in the window":                           {me: aside(fresh), ahead: []Entry{aside(e(tip, "c1", Testing))}, window: 1, want: do(DoWait)},
		"nothing lies on it":                             {me: fresh, ahead: []Entry{e(tip, "c1", Green), aside(e(tip, "c2", Green))}, want: build("c1")},
		"nothing waits for it":                           {me: fresh, ahead: []Entry{aside(fresh)}, want: build(tip)},
	} {
		check.Equal(t, name, c.want, Next(c.me, tip, c.ahead, cmp.Or(c.window, 9)))
	}
	check.Equal(t, "deleted target", do(DoWait), Next(fresh, "", nil, 9))
}

// queue is a model of a target and everybody who lands on it. A commit is a name; below it are
// its parent and the works that its tree has.
type queue struct {
	*rapid.T
	window int
	tip    string
	parent map[string]string
	has    map[string][]int
	passed map[string]bool // candidates that were green
	open   []*item
	ended  map[int]string
	bad    map[int]bool    // red by itself
	risky  map[int]bool    // a person is to look at it, which is known when it was tested
	fights map[[2]int]bool // conflicts with an earlier one
	breaks map[[2]int]bool // red together with another
	names  int
	runs   int // of gates
}

type item struct {
	Entry
	work int
	next Step // decided, perhaps some time ago, as by a process that was held up
}

func newQueue(t *rapid.T) *queue {
	q := &queue{
		T: t, tip: "root", parent: map[string]string{}, has: map[string][]int{}, passed: map[string]bool{}, ended: map[int]string{},
		bad: map[int]bool{}, risky: map[int]bool{}, fights: map[[2]int]bool{}, breaks: map[[2]int]bool{},
	}
	q.window = rapid.SampledFrom([]int{1, 2, 3, 99}).Draw(t, "window")
	return q
}

func arrives(t *rapid.T) Entry {
	return Entry{State: Building, Aside: rapid.IntRange(0, 3).Draw(t, "aside") == 0}
}

func (q *queue) commit(onto string, works ...int) string {
	q.names++
	name := fmt.Sprintf("c%d", q.names)
	q.parent[name], q.has[name] = onto, slices.Concat(q.has[onto], works)
	return name
}

func (q *queue) red(commit string) bool {
	for i, a := range q.has[commit] {
		if q.bad[a] || slices.ContainsFunc(q.has[commit][:i], func(b int) bool { return q.breaks[[2]int{b, a}] }) {
			return true
		}
	}
	return false
}

func (q *queue) ahead(me *item) []Entry {
	var list []Entry
	for _, e := range q.open {
		if e == me {
			break
		}
		list = append(list, e.Entry)
	}
	return list
}

func (q *queue) decide(e *item) {
	e.next = Next(e.Entry, q.tip, q.ahead(e), q.window)
	if e.next.Do == DoLand && e.Onto != q.tip {
		q.Fatalf("%v is to land on %s", e.Entry, q.tip)
	}
}

func (q *queue) leave(e *item, how string) {
	if was := q.ended[e.work]; was != "" {
		q.Fatalf("work %d ends as %s and as %s", e.work, was, how)
	}
	q.ended[e.work] = how
	q.open = slices.DeleteFunc(q.open, func(other *item) bool { return other == e })
}

// act does what was decided, and says whether anything changed.
func (q *queue) act(e *item) bool {
	step := e.next
	e.next = Step{Do: DoWait}
	switch step.Do {
	case DoBuild:
		e.Onto, e.Candidate, e.State = step.Onto, "", Conflict
		if !slices.ContainsFunc(q.has[step.Onto], func(other int) bool { return q.fights[[2]int{other, e.work}] }) {
			e.Candidate, e.State = q.commit(step.Onto, e.work), Building
		}
	case DoTest:
		e.State = Testing
		q.runs++
	case DoLand: // compare and swap, then what is stored
		if e.Aside {
			q.leave(e, "held")
		} else if q.tip == e.Onto {
			if !q.passed[e.Candidate] || q.red(e.Candidate) || q.parent[e.Candidate] != q.tip {
				q.Fatalf("%v lands", e.Entry)
			}
			q.tip = e.Candidate
			q.leave(e, "landed")
		}
	case DoReject:
		q.wantLanded(e.Onto)
		if !q.red(e.Candidate) || q.red(e.Onto) {
			q.Fatalf("%v is rejected without a fault", e.Entry)
		}
		q.leave(e, "rejected")
	case DoResolve:
		q.wantLanded(e.Onto)
		q.leave(e, "resolved")
	case DoWait:
		return false
	}
	return true
}

// wantLanded says that what counts against somebody is in the target.
func (q *queue) wantLanded(commit string) {
	for at := q.tip; at != commit; at = q.parent[at] {
		if at == "" {
			q.Fatalf("%s, which has not landed, counts", commit)
		}
	}
}

// finish ends the test of an entry.
func (q *queue) finish(e *item) bool {
	if e.State != Testing {
		return false
	}
	e.State, e.next = Red, Step{Do: DoWait}
	if !q.red(e.Candidate) {
		e.State, q.passed[e.Candidate] = Green, true
		e.Aside = e.Aside || q.risky[e.work] // which nobody knew before
	}
	return true
}

// settle lets everybody go on without disturbance, in some order, until nothing changes.
func (q *queue) settle() {
	for round := 0; ; round++ {
		if round > 100*(len(q.ended)+len(q.open)+1) {
			q.Fatalf("no end: %v", q.state())
		}
		changed := false
		for _, i := range rapid.Permutation(numbers(len(q.open))).Draw(q.T, "order") {
			if i >= len(q.open) {
				continue
			}
			e := q.open[i]
			q.decide(e)
			changed = q.act(e) || q.finish(e) || changed
		}
		if !changed {
			break
		}
	}
	if len(q.open) > 0 {
		q.Fatalf("these wait for ever on %s: %v", q.tip, q.state())
	}
}

func numbers(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

func (q *queue) state() string {
	var list []string
	for _, e := range q.open {
		list = append(list, fmt.Sprintf("%d %v", e.work, e.Entry))
	}
	return strings.Join(list, "; ")
}

// TestOnlyTestedTreesLandAndEverythingThatCanDoes, whatever happens at once.
func TestOnlyTestedTreesLandAndEverythingThatCanDoes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		q := newQueue(t)
		works := 0
		one := func(name string) *item {
			if len(q.open) == 0 {
				t.Skip("nobody is there")
			}
			return q.open[rapid.IntRange(0, len(q.open)-1).Draw(t, name)]
		}
		t.Repeat(map[string]func(*rapid.T){
			"arrive": func(t *rapid.T) {
				works++
				q.bad[works] = rapid.IntRange(0, 9).Draw(t, "bad") == 0
				q.risky[works] = rapid.IntRange(0, 4).Draw(t, "risky") == 0
				for other := 1; other < works; other++ {
					pair := [2]int{other, works}
					q.fights[pair] = rapid.IntRange(0, 19).Draw(t, "fights") == 0
					q.breaks[pair] = rapid.IntRange(0, 19).Draw(t, "breaks") == 0
				}
				q.open = append(q.open, &item{Entry: arrives(t), work: works, next: Step{Do: DoWait}})
			},
			"decide": func(*rapid.T) { q.decide(one("who")) },
			"act":    func(*rapid.T) { q.act(one("who")) },
			"go on":  func(*rapid.T) { e := one("who"); q.decide(e); q.act(e) },
			"finish": func(*rapid.T) { q.finish(one("who")) },
			"drop":   func(*rapid.T) { q.leave(one("who"), "dropped") },
			"a person commits": func(*rapid.T) {
				q.tip = q.commit(q.tip)
				q.passed[q.tip] = true
			},
			"": func(*rapid.T) {},
		})
		q.settle()
		for work := 1; work <= works; work++ {
			if landed := slices.Contains(q.has[q.tip], work); landed != (q.ended[work] == "landed") {
				t.Fatalf("work %d ended as %s, in the target: %v", work, q.ended[work], landed)
			}
		}
		if all := q.has[q.tip]; len(slices.Compact(slices.Sorted(slices.Values(all)))) != len(all) {
			t.Fatalf("something landed twice: %v", all)
		}
	})
}

// TestGatesRunOncePerTask, unless something goes wrong.
func TestGatesRunOncePerTask(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		q := newQueue(t)
		n, aside := rapid.IntRange(1, 12).Draw(t, "n"), rapid.Bool().Draw(t, "aside")
		for work := 1; work <= n; work++ {
			q.open = append(q.open, &item{Entry: Entry{State: Building, Aside: aside}, work: work})
			if rapid.Bool().Draw(t, "step") {
				e := q.open[rapid.IntRange(0, len(q.open)-1).Draw(t, "who")]
				q.decide(e)
				q.act(e)
			}
		}
		q.settle()
		check.Equal(t, "gate runs", n, q.runs)
	})
}
