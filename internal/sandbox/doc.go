// Package sandbox confines a process that package proc starts, and says how
// well. It never asks for a setuid program and never confines the calling
// process: everything happens in the helper that proc executes.
//
// There are three levels, the best first:
//
//	Namespaces  user, mount, PID and IPC namespaces: everything is read-only
//	            except what the Profile names, folders may be laid under a
//	            throwaway overlay, /proc, /dev, /run and /tmp are the process's own
//	Landlock    writes are refused outside what the Profile names
//	None        nothing is confined
//
// Below Namespaces nothing can look writable and stay the same, so a verifier
// finds the project read-only, and a Fingerprint shows what an agent tampered with.
//
// Use: main calls proc.RunHelper(sandbox.Confine); Detect and DetectFor say the level;
// Profile.Encode makes proc.Spec.Confine; a Confiner
// does all of that for a run.
package sandbox
