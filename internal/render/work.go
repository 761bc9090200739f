package render

import (
	"cmp"
	"fmt"

	"ralph/internal/event"
	"ralph/internal/human"
	"ralph/internal/seq"
)

// shortIDs is how much of a commit's ID is named, as git shortens it.
const shortIDs = 7

// Branch is a ref as people call it.
func Branch(ref string) string { return Line(human.Branch(ref)) }

// On says where work lands.
func On(ref string) string { return Line(human.On(ref)) }

// Commit is the ID of a commit as people see it.
func Commit(id string) string { return Line(id[:min(len(id), shortIDs)]) }

// Lanes says where the agents of a run work, and where their work lands.
func Lanes(s event.Setup) string {
	if human.IsFolder(s.Target) {
		return "1, in this folder"
	}
	where := "1, in a slot"
	if s.Jobs > 1 {
		where = fmt.Sprintf("%d at once, each in a slot", s.Jobs)
	}
	return where + "; work lands on " + Branch(s.Target)
}

func target(e event.Event) string {
	if e.Merge == nil {
		return "the target"
	}
	return Branch(e.Merge.Target)
}

// moved says what an attempt met on the target: what merged is for who looks closely. Without an attempt, the branch has moved to what had
// landed.
func moved(e event.Event) said {
	if e.Task == "" && e.Merge != nil {
		return said{sign: Good.Sign(), tone: Good, text: target(e) + " has moved to " + Commit(e.Merge.Commit) + ", with what had landed"}
	}
	if len(e.Files) == 0 {
		return said{text: with(target(e)+" has moved, and was merged", e.Reason), detail: true}
	}
	return said{sign: "!", text: with(fmt.Sprintf("%s has moved, and conflicts in %s", target(e), human.Few(seq.Map(e.Files, Line[string]))), e.Reason)}
}

func landed(e event.Event) string {
	switch m := e.Merge; {
	case m == nil:
		return "landed"
	case m.Commit == m.Onto && m.Refs != "":
		return "changes no file " + On(m.Target) + "; it " + Line(m.Refs)
	case m.Commit == m.Onto:
		return "changes nothing " + On(m.Target)
	case e.Reason != "":
		return "landed, and is ready as " + Commit(m.Commit) + ": " + Branch(m.Target) + " " + Line(e.Reason)
	default:
		return "landed " + On(m.Target) + " as " + Commit(m.Commit) + human.Lead("; it ", Line(m.Refs))
	}
}

// Landed says where the work of a run ended up, in a line for each place.
func Landed(w *event.Work) []string {
	if w == nil {
		return nil
	}
	lines := []string{"nothing landed " + On(w.Target)}
	switch {
	case w.Commits > 0 && human.IsFolder(w.Target):
		lines[0] = "landed in this folder: the work of " + human.Count(w.Commits, "task")
	case w.Commits > 0:
		lines[0] = Branch(w.Target) + " has " + human.Count(w.Commits, "new commit")
	}
	if w.Waits != nil {
		if w.Commits > 0 {
			lines[0] = human.Count(w.Commits, "commit") + " landed"
		}
		lines = append(lines, "ready at "+Line(w.Waits.Ref)+": "+Branch(w.Target)+" "+Line(w.Waits.Reason))
	}
	name := func(k event.Kept) string { return Line(k.Task) }
	return append(lines, human.Parts(
		human.Lead("to review before it lands: the work of ", human.Few(seq.Map(w.Review, name))),
		human.Lead("to land after it: the work of ", human.Few(seq.Map(w.Behind, name))),
		human.Lead("kept aside, not landed: the work of ", human.Few(seq.Map(w.Kept, name))),
	)...)
}

// Looks are the commands that show where the work of a run ended up.
func Looks(w *event.Work) (steps []Step) {
	if w == nil {
		return nil
	}
	git := cmp.Or(Line(w.Git), "git")
	if w.Commits > 0 {
		steps = append(steps, Step{git + " log " + Commit(w.From) + ".." + Commit(w.To), "see what landed " + On(w.Target)})
	}
	if w.Waits != nil {
		steps = append(steps, Step{Line(w.Waits.Command), "move " + Branch(w.Target) + " to it, once you have made way"})
	}
	if len(w.Review) == 1 {
		steps = append(steps, Step{"ralph review " + Line(w.Review[0].Task), "see the work that waits for review, and how to accept or reject it"})
	} else if len(w.Review) > 1 {
		steps = append(steps, Step{"ralph review", "list the work that waits for review"})
	}
	const each = 5
	for _, k := range w.Kept[:min(len(w.Kept), each)] {
		steps = append(steps, Step{git + " show " + Line(k.Ref), "see the work of " + Line(k.Task) + ", which did not land"})
	}
	if len(w.Kept) > each {
		steps = append(steps, Step{git + " for-each-ref refs/ralph/work", "list all work that did not land"})
	}
	return steps
}
