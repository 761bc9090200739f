package bench

import (
	"fmt"
	"math/rand/v2"

	"ralph/dag"
)

// The shape of every graph: layers of groups, each group a parent with nine
// leaves; each leaf waits for two leaves of the layer before, each group for two
// groups. One group in fifty stands apart and has failed, so that --keep-going
// has something to find. The order is adverse: the later a layer, the more urgent
// it is, so that nearly all of the most urgent tasks are blocked.
const (
	layers    = 30
	groupSize = 10 // the group itself and its leaves
)

// feature is the scope of the claims by feature; half of the groups have it.
const feature = "x"

// plan makes the specs of n tasks, the same ones each time.
func plan(n, layers int) []dag.Spec {
	p := &planner{rng: rand.New(rand.NewPCG(1, uint64(n))), specs: make([]dag.Spec, 0, n)}
	failed := n / groupSize / 50
	for i := range failed {
		p.group(i, layers, dag.Failed, nil)
	}
	per := (n/groupSize - failed) / layers
	var before []int
	for layer := range layers {
		var here []int
		for len(here) < per || (layer == layers-1 && len(p.specs) < n) {
			here = append(here, p.group(len(p.specs)/groupSize, layers-layer, "", before))
		}
		before = here
	}
	return p.specs
}

type planner struct {
	rng   *rand.Rand
	specs []dag.Spec
}

// group adds one group and returns where it begins.
func (p *planner) group(i, priority int, status dag.Status, before []int) int {
	at := len(p.specs)
	s := p.spec("", priority, status)
	s.Feature = []string{feature, "other"}[i%2]
	s.After = p.two(before, func() int { return 0 })
	p.specs = append(p.specs, s)
	for range groupSize - 1 {
		leaf := p.spec(p.specs[at].Ref, priority, "")
		leaf.After = p.two(before, func() int { return 1 + p.rng.IntN(groupSize-1) })
		p.specs = append(p.specs, leaf)
	}
	return at
}

func (p *planner) spec(parent string, priority int, status dag.Status) dag.Spec {
	n := len(p.specs)
	return dag.Spec{
		Line: n + 1, Ref: fmt.Sprintf("n%d", n), Parent: parent, Detail: dag.Detail{Priority: int64(priority), Title: fmt.Sprintf("Step %d of a plan that is long enough", n), Description: fmt.Sprintf("What has to be done in step %d, in one sentence of about the length that a planner writes down.", n)}, Status: status,
	}
}

// two names two different tasks of the layer before.
func (p *planner) two(before []int, member func() int) []string {
	if len(before) < 2 {
		return nil
	}
	a := p.rng.IntN(len(before))
	b := (a + 1 + p.rng.IntN(len(before)-1)) % len(before)
	return []string{p.specs[before[a]+member()].Ref, p.specs[before[b]+member()].Ref}
}
