package event

// Rejection is why work that its agent called done was not accepted.
type Rejection string

// The rejections, in the order in which work is checked.
const (
	RejectedIncomplete Rejection = "incomplete" // some of it cannot be part of a commit
	RejectedConflict   Rejection = "conflict"   // with what landed meanwhile
	RejectedChanged    Rejection = "changed"    // by an older ralph: its files in the folder, since it was done
	RejectedTampering  Rejection = "tampering"  // with protected files, ralph's own state or git's hooks
	RejectedGate       Rejection = "gate"
	RejectedUnchanged  Rejection = "unchanged"
	RejectedUnproven   Rejection = "unproven" // by an older ralph: every gate was red before it, too; such work is held now
	RejectedVerdict    Rejection = "verdict"
	RejectedMissing    Rejection = "missing" // of a whole feature: what its specification asks for is not there
)

// Remedy is what a person types about rejected work, and when that helps, by what became of its task. It is "" if there
// was no rejection, or if it does not matter any more.
func (r Rejection) Remedy(task string, status TaskStatus) (command, when string) {
	accept, again := "ralph task accept "+task, "ralph task reset "+task
	switch {
	case r == "" || status == TaskDone || status == TaskDeleted:
		return "", ""
	case r == RejectedTampering:
		return accept, "if the task asks for that change: gates check the work, and no agent runs"
	case r == RejectedVerdict:
		return accept, "if you have read the work and disagree: gates check it, and no agent runs"
	case r == RejectedUnproven:
		return accept, "if you have read the work; next time give the task a gate that shows it, ralph task update " + task + " --gate COMMAND, or enable the verifier"
	case r == RejectedMissing:
		return "ralph task done " + task, "if the feature is good as it is; to have it checked once more: " + again
	case r == RejectedUnchanged:
		return "ralph task done " + task, "if there is nothing left to do; if it is to run again and need not change anything: ralph task update " + task + " --kind check"
	case status != TaskFailed:
		return "ralph task log " + task + ` -m "TEXT"`, "give the next attempt guidance"
	case r == RejectedGate:
		return again, "have it done again; if the gate was to blame and is repaired, ralph task accept " + task + " needs no agent"
	case r == RejectedConflict:
		return again, "have it done again on what is there now"
	default:
		return again, "have it done again, without what cannot be part of a commit"
	}
}
