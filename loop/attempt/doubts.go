package attempt

import "ralph/internal/glob"

// doubt notes a check of the candidate that could not be carried out. The verifier is asked about it by name; without one, or without
// its answer, the work waits for a person.
func (a *attempt) doubt(text string) { a.doubts = append(a.doubts, text) }

// mayChange reports whether the task allows its work to change a file that checks it.
func (a *attempt) mayChange(file string) bool { return glob.Match(a.job.Task.MayChange, file) }
