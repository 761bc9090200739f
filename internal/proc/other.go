//go:build !linux

package proc

import "os"

// RunHelper does nothing on this system: there is no helper.
func RunHelper(Confiner) {}

// Self is the identity of this process.
func Self() (Identity, error) { return Identity{Pid: os.Getpid()}, nil }

// Of is the identity of a running process.
func Of(pid int) (Identity, error) { return Identity{Pid: pid}, nil }

// Liveness is always Unknown here: start times are not read on this system, and
// a pid alone may belong to somebody else by now.
func Liveness(Identity) State { return Unknown }

// idle does not exist here: there are no helpers.
type idle struct{}

func startIdle(string) (*idle, error) { return nil, nil }

func (*idle) dismiss() string { return "" }

func needsOwnHelper(Spec) bool { return false }

func launch(spec Spec, _ *idle) (*Process, error) { return Start(spec) }

// Sweep finds nothing here: the environments of other processes are not read
// on this system.
func Sweep(string, ...Record) (killed int, err error) { return 0, nil }

// Marked finds nothing here, as Sweep.
func Marked(string, ...Record) (int, error) { return 0, nil }

// Take records nothing here, as nothing is swept.
func Take(owner string) (Record, error) { return Record{Owner: owner}, nil }

// Gaps says, in sentences for a person, which processes may outlive us on this system.
func Gaps() []string {
	return append(groupGaps(),
		"if ralph itself is killed, its agents survive until they notice that their input closed",
		"leftovers of a dead run are not found by their environment on this system")
}
