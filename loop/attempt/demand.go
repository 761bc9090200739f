package attempt

import (
	"sync"
	"time"
)

// Demand is what testing one candidate takes, as measured last.
type Demand struct {
	mu        sync.Mutex
	running   int // tests
	crowds    int // how often a test began beside another
	wall, cpu time.Duration
}

// Last is how long a test took, by the clock and of the processors; zero if none has run.
func (d *Demand) Last() (wall, cpu time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.wall, d.cpu
}

// measure runs a test, which returns its processor time and whether that says anything. One that ran
// beside others may have waited for a processor, and seems to need fewer than it does: it counts
// only if it needs more than was known.
func (d *Demand) measure(now func() time.Time, test func() (cpu time.Duration, ok bool)) {
	d.mu.Lock()
	if d.running++; d.running > 1 {
		d.crowds++
	}
	alone, crowds := d.running == 1, d.crowds
	d.mu.Unlock()
	begin, known := now(), false
	var cpu time.Duration
	defer func() {
		wall := now().Sub(begin)
		d.mu.Lock()
		defer d.mu.Unlock()
		d.running--
		alone = alone && d.crowds == crowds
		if known && (alone || cpu.Seconds()*d.wall.Seconds() >= d.cpu.Seconds()*wall.Seconds()) {
			d.wall, d.cpu = wall, cpu
		}
	}()
	cpu, known = test()
}
