//go:build !linux

package proc

// Sweep finds nothing here: the environments of other processes are not read
// on this system.
func Sweep(string, ...Record) (killed int, err error) { return 0, nil }

// Marked finds nothing here, as Sweep.
func Marked(string, ...Record) (int, error) { return 0, nil }

// Take records nothing here, as nothing is swept.
func Take(owner string) (Record, error) { return Record{Owner: owner}, nil }
