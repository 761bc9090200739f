// Package proc starts processes whose whole tree dies with the process that
// started them, and says whether a recorded process still lives. It never
// interprets a command line through a shell and never kills a process whose
// identity it is not sure of.
//
// On Linux a process is started by a helper, which is this very binary
// executed again (see RunHelper):
//
//	ralph ──control socket──▶ helper ──fork──▶ agent ──▶ anything it forks
//	      ◀──status pipe─────
//
// The helper leads a session of its own and is a child subreaper: whatever the
// agent forks, daemonises or moves into another session stays below it. When
// the agent ends, when ralph asks, or when the control socket closes because
// ralph died, it stops and then kills everything below it until nothing is
// left. Should the agent kill the helper, ralph, a subreaper too, inherits the
// orphans and kills them itself.
//
// Elsewhere a process group is all there is; Gaps says what that leaves open.
package proc
