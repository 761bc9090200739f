package proc

import "syscall"

// helperName is argv[0] of a helper, and what ps shows.
const helperName = "ralph-proc"

// Command is what a helper is about to start; a Confiner may change it.
type Command struct {
	Path string
	Argv []string
	Env  []string
	Sys  *syscall.SysProcAttr
}

// Confiner restricts a process before it runs. It is called in the helper, on
// the locked thread that then forks, with Spec.Confine: what it does to that
// thread (Landlock, unshare, capabilities) holds for the process and not for
// the other threads of the helper, and cmd.Sys may ask for namespaces.
type Confiner func(data []byte, cmd *Command) error

// order is the helper's first argument; the process's own argv follows it.
type order struct {
	Path    string `json:"path"`
	Linger  bool   `json:"linger,omitempty"`
	Confine []byte `json:"confine,omitempty"`
}

// Descriptors of a helper beside the stdio it hands on.
const (
	controlFd = 3 // from ralph; closed means: end
	statusFd  = 4 // to ralph
)

// askTerminate on the control pipe asks for a SIGTERM to the process's group.
const askTerminate = 'T'

// Words that begin a line on the status pipe.
const (
	sayStarted = "started" // pid
	sayRefused = "refused" // errno text
	sayExited  = "exited"  // code signal
	sayLeft    = "left"    // pids that would not die
	sayGone    = "gone"    // nothing is left; always the last
)
