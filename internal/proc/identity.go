package proc

// Identity names one process for good: pids are used again, these four
// together are not. BootID and PIDNS are empty where the system has none.
type Identity struct {
	Pid    int
	Start  uint64 // start time in clock ticks since boot
	BootID string
	PIDNS  string // the pid namespace that Pid is counted in
}

// State is what can be said about a recorded process.
type State int

const (
	// Unknown is a process recorded on another host, in another container,
	// before a reboot, or on a system that does not say.
	Unknown State = iota
	// Alive is a process that runs.
	Alive
	// Dead is a process that ended, a zombie included.
	Dead
)

// Record is what a process has started and not seen end, for whoever sweeps after
// its death: a process that cleared its environment carries no marker.
type Record struct {
	Owner     string   `json:"owner"` // as in Spec
	BootID    string   `json:"boot"`
	PIDNS     string   `json:"pid_namespace"`
	At        uint64   `json:"at"` // when it was taken, in clock ticks since boot
	Processes []Member `json:"processes"`
}

// Member is one process of a record.
type Member struct {
	Pid     int    `json:"pid"`
	Start   uint64 `json:"start"` // in clock ticks since boot
	Session int    `json:"session"`
}
