package proc

import "syscall"

// The command line of a helper, which is what ps shows.
const (
	helperName  = "ralph-proc"
	helperWaits = "wait"
)

// Command is what a helper is about to start; a Confiner may change it.
type Command struct {
	Path string
	Argv []string
	Env  []string
	Dir  string
	Sys  *syscall.SysProcAttr
}

// Confiner restricts a process before it runs. It is called in the helper, on
// the locked thread that then forks, with Spec.Confine: what it does to that
// thread (Landlock, unshare, capabilities) holds for the process and not for
// the other threads of the helper, and cmd.Sys may ask for namespaces.
type Confiner func(data []byte, cmd *Command) error

// order is what a helper is to start. Arguments and variables are bytes, not
// always text, and must arrive as they are.
type order struct {
	Path    []byte   `json:"path"`
	Argv    [][]byte `json:"argv"`
	Env     [][]byte `json:"env"`
	Dir     []byte   `json:"dir,omitempty"`
	Linger  bool     `json:"linger,omitempty"`
	Confine []byte   `json:"confine,omitempty"`
	Cgroup  []byte   `json:"cgroup,omitempty"` // to begin in, if that is possible
}

func convert[To, From string | []byte](list []From) []To {
	out := make([]To, len(list))
	for i, item := range list {
		out[i] = To(item)
	}
	return out
}

// Descriptors of a helper beside the stdio it hands on.
const (
	controlFd = 3 // from ralph, a socket; closed means: end
	statusFd  = 4 // to ralph
)

// Bytes on the control socket.
const (
	askStart     = 'S' // with the stdio, and followed by the order as a line
	askTerminate = 'T' // SIGTERM to the process's group
)

// Words that begin a line on the status pipe.
const (
	sayStarted = "started" // pid
	sayRefused = "refused" // errno text
	sayExited  = "exited"  // code signal
	sayLeft    = "left"    // pids that would not die
	sayGone    = "gone"    // nothing is left; always the last
)
