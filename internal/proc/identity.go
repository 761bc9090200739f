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

func (s State) String() string {
	return [...]string{"unknown", "alive", "dead"}[s]
}
