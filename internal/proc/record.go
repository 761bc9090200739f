package proc

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
