package verify

// Doubt is what work did to the files that check it, where that may have made a gate easier to pass.
// A verifier clears it, or a person; without either the work is rejected.
type Doubt struct {
	Files    []string // that check the work and were changed by it
	Hunks    []Hunk   // of these, as the verifier is shown them
	Failed   []Result // gates that fail with these files as they were before
	Findings []string // what is doubtful although the old files pass, such as a deleted test file
	Unknown  string   // why no gate could be run with the old files; "" if they were
}

// Hunk is one change of such a file. The verifier answers for each.
type Hunk struct {
	N    int // from 1
	File string
	Text string // as in a patch
}

// Any says that there is something to clear.
func (d *Doubt) Any() bool { return d != nil && (len(d.Failed) > 0 || len(d.Findings) > 0) }

// Answer is what a verifier says of hunks: the task asks for them, in the sentence that is quoted, or they weaken
// a check.
type Answer struct {
	Hunks []int
	Asked bool
	Text  string // the sentence, or how the check is weaker
}
