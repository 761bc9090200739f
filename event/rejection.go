package event

// Rejection is why work that its agent called done was not accepted.
type Rejection string

// The rejections, in the order in which work is checked.
const (
	RejectedIncomplete Rejection = "incomplete" // some of it cannot be part of a commit
	RejectedConflict   Rejection = "conflict"   // with what landed meanwhile
	RejectedTampering  Rejection = "tampering"  // with what checks it
	RejectedGate       Rejection = "gate"
	RejectedUnchanged  Rejection = "unchanged"
	RejectedUnproven   Rejection = "unproven" // every gate was red before it, too, and there is no verifier
	RejectedVerdict    Rejection = "verdict"
)

// Command is what a person types about rejected work, by what became of its task; "" if there was no rejection, or if it
// does not matter any more.
func (r Rejection) Command(task string, status TaskStatus) string {
	if r == "" || status == TaskDone || status == TaskDeleted {
		return ""
	}
	switch r {
	case RejectedTampering, RejectedVerdict, RejectedUnproven:
		return "ralph task accept " + task
	case RejectedUnchanged:
		return "ralph task done " + task
	case RejectedIncomplete, RejectedConflict, RejectedGate:
	}
	switch {
	case status != TaskFailed: // the next attempt is told what is wrong
		return "ralph task log " + task + ` -m "TEXT"`
	case r == RejectedIncomplete:
		return "ralph task reset " + task + " && ralph run " + task + " --in-place"
	default:
		return "ralph task reset " + task
	}
}
