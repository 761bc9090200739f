//go:build linux

package proc

import (
	"bufio"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"testing"

	"ralph/internal/testing/check"
)

// leftBehind is a role without a helper that carries an owner's marker.
func leftBehind(t *testing.T, role, owner string, n int) *started {
	t.Helper()
	r, w, err := os.Pipe()
	check.OK(t, err)
	defer r.Close()
	cmd := exec.Command("/proc/self/exe", role)
	cmd.Env = append(roleEnvironment(role), MarkerEnv+"="+owner+"/1")
	cmd.Stdout = w
	check.OK(t, cmd.Start())
	go cmd.Wait()
	t.Cleanup(func() { cmd.Process.Kill() })
	w.Close()
	return &started{reported: readReported(t, bufio.NewReader(r), n)}
}

// Processes left by a ralph whose helper is gone as well.
func TestSweepKillsByMarker(t *testing.T) {
	t.Parallel()
	s, other := leftBehind(t, "tree", "dead-owner", 4), leftBehind(t, "sleep", "dead-owner-2", 1)
	n, err := Sweep("dead-owner")
	check.That(t, err == nil && n >= 4, "got %d, %v, want 4 killed, and perhaps the middle of the double fork", n, err)
	s.wantGone(t)
	check.Equal(t, "process of another owner", Alive, Liveness(other.reported["sleep"]))
	if n, err := Sweep("dead-owner"); n != 0 || err != nil {
		t.Errorf("second sweep: got %d, %v, want nothing found", n, err)
	}
}

// TestSweepWaitsForWhatIsEnding, though that has lost its marker already.
func TestSweepWaitsForWhatIsEnding(t *testing.T) {
	t.Parallel()
	s := leftBehind(t, "heavy", "heavy-owner", 1)
	if n, err := Sweep("heavy-owner"); n != 1 || err != nil {
		t.Errorf("got %d, %v, want one killed", n, err)
	}
	s.wantGone(t)
}

func TestSweepSparesUsAndOurs(t *testing.T) {
	t.Parallel()
	s := start(t, "ralph-sweeps", 0, func(spec *Spec) { spec.Owner = "sweeper" })
	if exit, err := s.Wait(); err != nil || !exit.Ok() {
		t.Errorf("a process that sweeps its own marker: got %v, %v, want exit status 0", exit, err)
	}
}

func TestLiveness(t *testing.T) {
	t.Parallel()
	self, err := Self()
	check.OK(t, err)
	with := func(change func(*Identity)) Identity {
		id := self
		change(&id)
		return id
	}
	for name, tc := range map[string]struct {
		id   Identity
		want State
	}{
		"ourselves":             {self, Alive},
		"pid given to another":  {with(func(id *Identity) { id.Start-- }), Dead},
		"no such pid":           {with(func(id *Identity) { id.Pid = 1 << 30 }), Dead},
		"another boot":          {with(func(id *Identity) { id.BootID = "x" }), Unknown},
		"another pid namespace": {with(func(id *Identity) { id.PIDNS = "pid:[1]" }), Unknown},
		"nothing recorded":      {Identity{}, Unknown},
	} {
		check.Equal(t, name, tc.want, Liveness(tc.id))
	}
	zombie := exec.Command("true")
	zombie.Env = os.Environ()
	r, w, _ := os.Pipe()
	zombie.Stdout = w
	check.OK(t, zombie.Start())
	id, err := Of(zombie.Process.Pid)
	check.OK(t, err)
	w.Close()
	r.Read(make([]byte, 1)) // the end of its output: it exits and nobody waited
	for Liveness(id) == Alive {
		runtime.Gosched()
	}
	check.Equal(t, "zombie", Dead, Liveness(id))
	zombie.Wait()
}

func TestParseStatWithAnyName(t *testing.T) {
	t.Parallel()
	raw := "7 (a) S 9 (b) S 3 3 5 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 12345 1 2 1\n"
	got, err := parseStat([]byte(raw))
	if want := (stat{pid: 7, ppid: 3, session: 5, start: 12345, state: 'S', threads: 1, resident: 2 * int64(os.Getpagesize())}); err != nil || got != want {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	for _, bad := range []string{"", "1", "1 (x)", "1 (x) S 1 2 3", "x (y) S a b c d e f g h i j k l m n o p q r s t u"} {
		if _, err := parseStat([]byte(bad)); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}

func TestRecordOwnsItsProcessesAndTheirSessions(t *testing.T) {
	t.Parallel()
	r := Record{At: 1000, Processes: []Member{{Pid: 10, Start: 100, Session: 10}, {Pid: 11, Start: 110, Session: 10}, {Pid: 12, Start: 120, Session: 12}, {Pid: 13, Start: 130, Session: 40}}}
	for name, tc := range map[string]struct {
		st     stat
		leader stat // of its session, if that lives
		want   bool
	}{
		"recorded":                          {stat{pid: 11, start: 110, session: 10}, stat{}, true},
		"recorded, in a session of its own": {stat{pid: 11, start: 110, session: 11}, stat{}, true},
		"its pid was given to another":      {stat{pid: 11, start: 9000, session: 11}, stat{}, false},
		"began afterwards in its session":   {stat{pid: 20, start: 1200, session: 10}, stat{}, true},
		"in the session of one that left":   {stat{pid: 21, start: 900, session: 12}, stat{pid: 12, start: 120, session: 12}, true},
		"another session by that number":    {stat{pid: 22, start: 1100, session: 12}, stat{pid: 12, start: 1050, session: 12}, false},
		"long after":                        {stat{pid: 23, start: 1001 + afterwards, session: 10}, stat{}, false},
		"somebody else":                     {stat{pid: 24, start: 900, session: 24}, stat{}, false},
	} {
		look := table{tc.st.pid: tc.st}
		if tc.leader.pid != 0 {
			look[tc.leader.pid] = tc.leader
		}
		check.Equal(t, name, tc.want, r.owns(look, tc.st))
	}
}

// TestTakeRecordsWhatIsBelowHelpers, and nothing else that this process started.
func TestTakeRecordsWhatIsBelowHelpers(t *testing.T) {
	t.Parallel()
	s := start(t, "tree", 4, nil)
	r, err := Take("test")
	check.OK(t, err)
	for name, id := range s.reported {
		if !slices.ContainsFunc(r.Processes, func(m Member) bool { return m.Pid == id.Pid && m.Start == id.Start }) {
			t.Errorf("%s is not recorded: %v in %v", name, id, r.Processes)
		}
	}
	self, err := Self()
	check.OK(t, err)
	own, err := readStat(self.Pid)
	check.OK(t, err)
	if slices.ContainsFunc(r.Processes, func(m Member) bool { return m.Pid == self.Pid || m.Session == own.session }) {
		t.Errorf("recorded this process, or its session: %v", r.Processes)
	}
	check.OK(t, s.Kill())
}
