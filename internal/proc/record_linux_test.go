package proc

import (
	"slices"
	"testing"

	"ralph/internal/testing/check"
)

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
