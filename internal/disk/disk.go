// Package disk says how much space a file system has. It writes nothing.
package disk

// Space is the size of a file system, and how much of it this user may still write.
type Space struct{ Total, Free int64 }

// Used is the part of the file system that is taken, in percent.
func (s Space) Used() int {
	if s.Total <= 0 {
		return 0
	}
	return int(100 * (float64(s.Total) - float64(s.Free)) / float64(s.Total))
}
