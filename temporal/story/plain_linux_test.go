package story

import (
	"path/filepath"
	"testing"
	"time"
)

// TestTwoWorkers runs a plan on two workers. Everything is as after a local run of the same plan.
func TestTwoWorkers(t *testing.T) {
	const tasks = 20
	flags := func(p *place) []string {
		return []string{"--agent", "shell", "--jobs", "4", "--events", filepath.Join(p.dir, "events.jsonl"), "--junit", filepath.Join(p.dir, "junit.xml")}
	}
	local, p := newPlace(t), newPlace(t)
	for _, p := range []*place{local, p} {
		p.plan(chains(tasks, 50*time.Millisecond))
	}
	local.ralph(append([]string{"run"}, flags(local)...)...)

	p.serve()
	one, two := p.worker("one", 2), p.worker("two", 2)
	run := p.run(flags(p)...)
	p.expect(run, 0, 5*time.Minute)
	p.settledWell(tasks)
	equal(t, "the result", local.result(), p.result())
	equal(t, "the JUnit report", local.junit(filepath.Join(local.dir, "junit.xml")), p.junit(filepath.Join(p.dir, "junit.xml")))
	equal(t, "the events", local.events(filepath.Join(local.dir, "events.jsonl")), p.events(filepath.Join(p.dir, "events.jsonl")))
	for _, w := range []*process{one, two} {
		if n := attemptsOf(w); n == 0 {
			t.Errorf("a worker made no attempt:\n%s", w.output())
		} else {
			t.Logf("%s made %d attempts", filepath.Base(w.log), n)
		}
	}
	p.noneBut(p.server, one, two)
}
