package schedule_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ralph/dag"
	"ralph/internal/cron"
	"ralph/internal/db"
	"ralph/internal/schedule"
	"ralph/internal/testing/check"
	"ralph/internal/testing/emptydb"
)

// world is a project with a clock: synctest's, plus what somebody set it to.
type world struct {
	t         *testing.T
	path      string
	schedules []schedule.Schedule

	mu      sync.Mutex
	set     time.Duration
	alive   map[int64]bool
	started []string
	warned  []string
	fails   error
	killed  bool // while it starts something
	busy    bool // the database, once something was started
	broken  bool // the database
	replace bool // the row of what is started, by another schedule's
}

func inWorld(t *testing.T, cron string, catchUp bool, act func(*world)) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "progress.db")
	emptydb.Write(t, path)
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, path: path, alive: map[int64]bool{}}
		w.schedules = []schedule.Schedule{w.schedule("nightly", cron, catchUp)}
		act(w)
	})
}

func (w *world) schedule(name, text string, catchUp bool) schedule.Schedule {
	line, err := cron.Parse(text, "UTC")
	check.OK(w.t, err)
	return schedule.Schedule{Name: name, Line: line, Args: []string{"--feature", name}, CatchUp: catchUp}
}

func (w *world) now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Now().Add(w.set)
}

// change sets something while clocks look.
func (w *world) change(fn func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	fn()
}

// sleep lets time pass, and what happens in it end.
func (w *world) sleep(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// server is a clock that looks at the project until stop is called.
func (w *world) server(pid int64) (stop func()) {
	d, err := db.Open(w.t.Context(), w.path, db.Options{})
	check.OK(w.t, err)
	ctx, cancel := context.WithCancel(w.t.Context())
	done := make(chan struct{})
	w.change(func() { w.alive[pid] = true })
	go func() {
		defer close(done)
		schedule.Run(ctx, schedule.Options{
			Update: w.update(dag.New(d, dag.Options{Now: w.now}).Update), Schedules: w.read, Now: w.now,
			Self: dag.Process{PID: pid}, Life: w.life, Start: w.start, Warn: func(text string) { w.say(&w.warned, text) },
		})
	}()
	return func() {
		synctest.Wait() // it looks at once
		cancel()
		<-done
		w.change(func() { w.alive[pid] = false })
		check.OK(w.t, d.Close())
	}
}

// update fails while the database is broken.
func (w *world) update(do func(context.Context, func(*dag.Graph) error) error) func(context.Context, func(*dag.Graph) error) error {
	return func(ctx context.Context, fn func(*dag.Graph) error) error {
		w.mu.Lock()
		broken := w.broken
		w.mu.Unlock()
		if broken {
			return errors.New("the database is busy")
		}
		return do(ctx, func(g *dag.Graph) error {
			if w.replace {
				g.Tx().Do(`UPDATE schedule_fires SET name = 'other', due_at = 946684800000, state = 'missed', count = 7 WHERE state = 'claimed';`)
			}
			return fn(g)
		})
	}
}

func (w *world) life(p dag.Process) dag.Life {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.alive[p.PID] {
		return dag.Alive
	}
	return dag.Dead
}

func (w *world) say(list *[]string, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	*list = append(*list, text)
}

func (w *world) start(_ context.Context, name string, args []string) (dag.Process, error) {
	w.say(&w.started, w.now().Format("01-02 15:04:05 ")+name+" "+strings.Join(args, " "))
	w.mu.Lock()
	defer w.mu.Unlock()
	w.broken = w.busy
	if w.killed {
		w.started = nil
		runtime.Goexit()
	}
	return dag.Process{PID: int64(1000 + len(w.started))}, w.fails
}

func (w *world) read() []schedule.Schedule {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.schedules
}

// running makes what is started next stay at work.
func (w *world) running(on bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for pid := range int64(100) {
		w.alive[1000+pid] = on
	}
}

func (w *world) fires() (list []string) {
	d, err := db.Open(w.t.Context(), w.path, db.Options{})
	check.OK(w.t, err)
	defer d.Close()
	check.OK(w.t, d.View(w.t.Context(), func(tx *db.Tx) error {
		for r := range tx.Rows(`SELECT state, count, strftime('%m-%d %H:%M:%S', due_at / 1000, 'unixepoch') FROM schedule_fires ORDER BY n;`) {
			list = append(list, fmt.Sprint(r.Text(), " ", r.Int(), " ", r.Text()))
		}
		return tx.Err()
	}))
	return list
}

func TestAScheduleRunsEachTimeOnce(t *testing.T) {
	t.Parallel()
	inWorld(t, "0 1 * * *", false, func(w *world) {
		stop := w.server(1)
		other := w.server(2) // on the same project
		w.sleep(72 * time.Hour)
		stop()
		other()
		check.Equal(t, "started", []string{
			"01-01 01:00:00 nightly --feature nightly", "01-02 01:00:00 nightly --feature nightly", "01-03 01:00:00 nightly --feature nightly",
		}, w.started)
		check.Equal(t, "warnings", []string(nil), w.warned)
		check.Equal(t, "fires", []string{"seen 0 01-01 00:00:00", "started 1 01-01 01:00:00", "started 1 01-02 01:00:00", "started 1 01-03 01:00:00"}, w.fires())
	})
}

func TestANewScheduleHasNoPast(t *testing.T) {
	t.Parallel()
	inWorld(t, "0 1 * * *", true, func(w *world) {
		w.server(1)()
		w.sleep(60 * time.Hour)
		w.change(func() { w.schedules = []schedule.Schedule{w.schedule("nightly", "0 2 * * *", true)} }) // another line under the same name
		stop := w.server(1)
		w.sleep(time.Minute)
		stop()
		check.Equal(t, "started", []string(nil), w.started)
		check.Equal(t, "warnings", []string(nil), w.warned)
	})
}

func TestMissedRuns(t *testing.T) {
	t.Parallel()
	for name, catchUp := range map[string]bool{"are reported": false, "are caught up with once": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, "0 1 * * *", catchUp, func(w *world) {
				w.server(1)()
				w.sleep(60 * time.Hour)
				for range 2 {
					stop := w.server(1)
					w.sleep(time.Hour)
					stop()
				}
				started, said, fire := []string(nil), "run it with: ralph schedule run nightly", "missed 3 01-01 01:00:00"
				if catchUp {
					started, said, fire = []string{"01-03 12:00:00 nightly --feature nightly"}, "it catches up now", "started 3 01-01 01:00:00"
				}
				check.Equal(t, "started", started, w.started)
				check.Equal(t, "warnings", []string{"schedule nightly was due 3 times since 2000-01-01 01:00:00 while nobody was there; " + said}, w.warned)
				check.Equal(t, "fires", []string{"seen 0 01-01 00:00:00", fire}, w.fires())
			})
		})
	}
}

// TestALineForEverySecond: it runs once at a time, and what is skipped meanwhile is one row.
func TestALineForEverySecond(t *testing.T) {
	t.Parallel()
	inWorld(t, "* * * * * *", false, func(w *world) {
		w.running(true)
		stop := w.server(1)
		w.sleep(90500 * time.Millisecond)
		check.Equal(t, "started while the first is at work", []string{"01-01 00:00:01 nightly --feature nightly"}, w.started)
		check.Equal(t, "warnings", []string{"schedule nightly is due, and its last run is still at work: it is skipped"}, w.warned)
		check.Equal(t, "rows", 3, len(w.fires()))
		w.running(false)
		w.sleep(10 * time.Second)
		stop()
		check.Equal(t, "started in all", 11, len(w.started))
		check.Equal(t, "the last warning", 1, len(w.warned))
	})
}

// TestKilledBetweenClaimAndStart: it is reported, once, and nobody starts it again.
func TestKilledBetweenClaimAndStart(t *testing.T) {
	t.Parallel()
	inWorld(t, "0 1 * * *", true, func(w *world) {
		w.change(func() { w.killed = true })
		stop := w.server(1)
		w.sleep(2 * time.Hour)
		stop()
		w.change(func() { w.killed = false })
		for range 2 {
			stop = w.server(2)
			w.sleep(time.Minute)
			stop()
		}
		check.Equal(t, "started", []string(nil), w.started)
		check.Equal(t, "warnings", []string{"schedule nightly was due at 2000-01-01 01:00:00, and ralph was killed while it started it; look whether it ran: ralph runs list"}, w.warned)
		check.Equal(t, "fires", []string{"seen 0 01-01 00:00:00", "missed 1 01-01 01:00:00"}, w.fires())
	})
}

// TestAClaimOfALiveServerIsItsOwn: another one neither starts nor reports what the first is about to start.
func TestAClaimOfALiveServerIsItsOwn(t *testing.T) {
	t.Parallel()
	inWorld(t, "0 1 * * *", true, func(w *world) {
		w.change(func() { w.killed = true })
		stop := w.server(1)
		w.sleep(2 * time.Hour)
		w.change(func() { w.killed = false })
		other := w.server(2)
		w.sleep(time.Minute)
		other()
		check.Equal(t, "fires", []string{"seen 0 01-01 00:00:00", "claimed 1 01-01 01:00:00"}, w.fires())
		stop()
	})
}

func TestAStartThatFails(t *testing.T) {
	t.Parallel()
	inWorld(t, "0 1 * * *", true, func(w *world) {
		w.change(func() { w.fails = errors.New("no such program") })
		stop := w.server(1)
		w.sleep(20 * time.Hour)
		stop()
		check.Equal(t, "tries", 1, len(w.started))
		check.Equal(t, "warnings", []string{"schedule nightly could not be started: no such program"}, w.warned)
		check.Equal(t, "fires", []string{"seen 0 01-01 00:00:00", "failed 1 01-01 01:00:00"}, w.fires())
	})
}

// TestAStartThatIsStoredLater, because the database was busy: it is known to be at work, and when it is over the schedule goes on.
func TestAStartThatIsStoredLater(t *testing.T) {
	t.Parallel()
	inWorld(t, "0 * * * *", false, func(w *world) {
		w.change(func() { w.busy = true })
		w.running(true)
		stop := w.server(1)
		w.sleep(61 * time.Minute)
		check.Equal(t, "while the database is busy", []string{"seen 0 01-01 00:00:00", "claimed 1 01-01 01:00:00"}, w.fires())
		w.change(func() { w.busy, w.broken = false, false })
		w.sleep(time.Hour)
		check.Equal(t, "while it is at work", 1, len(w.started))
		w.running(false)
		w.sleep(time.Hour)
		stop()
		check.Equal(t, "fires", []string{"seen 0 01-01 00:00:00", "started 1 01-01 01:00:00", "skipped 1 01-01 02:00:00", "started 1 01-01 03:00:00"}, w.fires())
		check.Equal(t, "warnings", []string{"schedule nightly: the database is busy", "schedule nightly is due, and its last run is still at work: it is skipped"}, w.warned)
	})
}

// TestABugInOneSchedule is reported, and the others go on.
func TestABugInOneSchedule(t *testing.T) {
	t.Parallel()
	inWorld(t, "0 1 * * *", false, func(w *world) {
		w.schedules = append([]schedule.Schedule{{Name: "broken"}}, w.schedules...)
		stop := w.server(1)
		w.sleep(2 * time.Hour)
		stop()
		check.Equal(t, "started", []string{"01-01 01:00:00 nightly --feature nightly"}, w.started)
		check.Equal(t, "warnings", 1, len(w.warned))
		check.Contains(t, "warning", "schedule broken: this is a bug in ralph: ", w.warned[0])
	})
}

// TestADatabaseThatIsReplacedMeanwhile, in which the number of the claim is another schedule's.
func TestADatabaseThatIsReplacedMeanwhile(t *testing.T) {
	t.Parallel()
	inWorld(t, "0 1 * * *", false, func(w *world) {
		w.change(func() { w.replace = true })
		stop := w.server(1)
		w.sleep(90 * time.Minute)
		stop()
		check.Equal(t, "started", 1, len(w.started))
		check.Equal(t, "fires", []string{"seen 0 01-01 00:00:00", "missed 7 01-01 00:00:00"}, w.fires())
	})
}

// TestTheClockIsSet back and forth, and the machine sleeps: nothing runs twice, and the clock does not get stuck.
func TestTheClockIsSet(t *testing.T) {
	t.Parallel()
	inWorld(t, "0 1 * * *", false, func(w *world) {
		stop := w.server(1)
		w.sleep(70 * time.Minute)
		w.change(func() { w.set = -time.Hour }) // back to 00:10
		w.sleep(2 * time.Hour)
		check.Equal(t, "started after an hour back", 1, len(w.started))
		w.change(func() { w.set += 8 * time.Hour }) // a nap from 02:10 to 10:10
		w.sleep(20 * time.Hour)
		check.Equal(t, "started after the nap", 2, len(w.started))
		w.change(func() { w.set += 10 * 365 * 24 * time.Hour }) // somebody mistyped the year, and puts it right after an hour
		w.sleep(time.Hour)
		check.Equal(t, "reported", 1, len(w.warned))
		w.change(func() { w.set -= 10 * 365 * 24 * time.Hour })
		w.sleep(24 * time.Hour)
		stop()
		check.Equal(t, "started", []string{
			"01-01 01:00:00 nightly --feature nightly", "01-02 01:00:00 nightly --feature nightly", "01-03 01:00:00 nightly --feature nightly",
		}, w.started)
	})
}

func TestALineThatIsNeverDue(t *testing.T) {
	t.Parallel()
	inWorld(t, "0 0 30 2 *", false, func(w *world) {
		stop := w.server(1)
		w.sleep(24 * time.Hour)
		stop()
		check.Equal(t, "started", []string(nil), w.started)
		check.Equal(t, "warnings", []string{"schedule nightly is never due: 0 0 30 2 * UTC"}, w.warned)
	})
}

// TestByHand: a person does not start what is at work, and what a person started is in the way of the clock.
func TestByHand(t *testing.T) {
	t.Parallel()
	inWorld(t, "0 * * * *", false, func(w *world) {
		d, err := db.Open(w.t.Context(), w.path, db.Options{})
		check.OK(t, err)
		defer d.Close()
		store, tries := dag.New(d, dag.Options{}), []bool(nil)
		stop := w.server(1)
		for range 2 {
			check.OK(t, store.Update(w.t.Context(), func(g *dag.Graph) error {
				ok := schedule.ByHand(g, w.schedules[0], dag.Process{PID: 1050}, w.life)
				tries = append(tries, ok)
				return nil
			}))
			w.running(true)
		}
		check.Equal(t, "by hand", []bool{true, false}, tries)
		w.sleep(90 * time.Minute)
		check.Equal(t, "started while it is at work", []string(nil), w.started)
		w.running(false)
		w.sleep(time.Hour)
		stop()
		check.Equal(t, "started afterwards", []string{"01-01 02:00:00 nightly --feature nightly"}, w.started)
	})
}
