// Package sandbox confines a process that package proc starts, and says how well. It
// needs no setuid program and never confines the calling process: the helper that proc
// executes confines itself. The levels, best first:
//
//	Namespaces  everything is read-only except what the Profile names, folders may be laid under a
//	            throwaway overlay, and /proc, /dev, /run and /tmp are the process's own
//	Landlock    writes are refused outside what the Profile names; a verifier finds the project
//	            read-only, and a Fingerprint shows what an agent tampered with
//	None        nothing is confined
//
// main calls proc.RunHelper(sandbox.Confine); a Confiner does the rest for a run.
package sandbox
