package land

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"ralph/dag"
	"ralph/internal/git"
	"ralph/internal/merge"
	"ralph/internal/seq"
	"ralph/internal/slot"
	"ralph/loop/policy"
)

// Tags and branches that an attempt makes in its slot are work, too. In ten lines:
//
//  1. A slot notes which refs it was given (slot.Refs lists the others).
//  2. Keep brings their objects into the repository, and names each below refs/ralph/made, with the attempt.
//  3. An attempt that goes on with earlier work, or only lands it, gets its refs back into the slot.
//  4. The entry of the queue has them, and so do the patch by which acceptance is known, what is judged, the room, and who reviews it.
//  5. They are a change. One that the task does not name is a doubt; so is one that is not at the work's commit.
//  6. One that exists in the repository with another value waits for a person, and is never overwritten.
//  7. Before the target moves, the entry gets what each is to be: what pointed at the work points at what lands.
//  8. When it has moved, they are written, each if it does not exist; then the task settles.
//  9. A run that dies between leaves that to recovery, which asks the entry.
//  10. To undo the work deletes those that are still what landing made them, in the same way: the entry of the revert has them.

// Ref is a tag or branch that work makes, as it is judged.
type Ref struct {
	Text  string // what is done to it
	Asked bool   // the task names it, and it is where it is expected
	Clash string // why it cannot be made; "" if it can
}

// keepRefs lists the names to set, below refs/ralph, so that what the attempt made is kept with its work.
func (w *Workspace) keepRefs(ctx context.Context, kept slot.Work) ([]merge.Ref, error) {
	if !w.lands {
		return nil, nil
	}
	made, err := madeRefs(ctx, w.slot, w.to.Repo, w.claim.Task, kept, w.refs)
	if err != nil {
		return nil, err
	}
	set := seq.Map(made, func(m merge.Made) merge.Ref { return merge.Ref{Name: merge.MadeRef(m, w.claim.Attempt), Commit: m.ID} })
	for _, old := range w.refs {
		if name := merge.MadeRef(old, w.claim.Attempt); !slices.ContainsFunc(set, func(r merge.Ref) bool { return r.Name == name }) {
			set = append(set, merge.Ref{Name: name})
		}
	}
	same := slices.Equal(made, w.saved)
	if w.refs = made; same || w.Here() { // they are where they belong
		return nil, nil
	}
	return set, nil
}

// keptRefs is the same for an attempt whose run died.
func keptRefs(ctx context.Context, at *slot.Slot, repo *git.Repo, t dag.Task, last dag.Attempt, kept slot.Work) ([]merge.Ref, error) {
	if last.Slot == dag.Here {
		return nil, nil
	}
	earlier, err := merge.MadeBy(ctx, repo)
	if err != nil {
		return nil, err
	}
	made, err := madeRefs(ctx, at, repo, t, kept, earlier[last.ID])
	return seq.Map(made, func(m merge.Made) merge.Ref { return merge.Ref{Name: merge.MadeRef(m, last.ID), Commit: m.ID} }), err
}

// maxRefs is how many an attempt may make.
const maxRefs = 50

// madeRefs brings what an attempt made of tags and branches into the repository. Agents work on branches of their own: one that the task
// does not name counts only if nothing else was changed. In the project's own folder people make some, too: those count that it names.
func madeRefs(ctx context.Context, s *slot.Slot, repo *git.Repo, t dag.Task, kept slot.Work, earlier []merge.Made) ([]merge.Made, error) {
	base := s.Base()
	refs, err := s.Refs(ctx, seq.Map(earlier, func(m merge.Made) string { return m.Name })...)
	if err != nil {
		return nil, err
	}
	many := len(refs) > maxRefs // a clone of something into the slot's own repository has as many
	refs = slices.DeleteFunc(refs, func(r slot.MadeRef) bool {
		moved := kept.Commit != base && strings.HasPrefix(r.Name, "refs/heads/")
		return (many || moved || s.Here()) && !names(t, r.Name)
	})
	if len(refs) > maxRefs {
		return nil, fmt.Errorf("it makes %d tags and branches; at most %d can land", len(refs), maxRefs)
	}
	for _, r := range refs {
		if why := r.Unfit(); why != "" {
			return nil, fmt.Errorf("%s cannot land: %s; delete it, and take another name if the task leaves you the choice", dag.MadeRef{Name: r.Name}.Short(), why)
		}
	}
	if err := s.Describe(ctx, base, refs); err != nil {
		return nil, err
	}
	known := func(r slot.MadeRef) bool {
		return slices.ContainsFunc(earlier, func(m merge.Made) bool { return m.ID == r.ID })
	}
	if err := s.Bring(ctx, base, slices.DeleteFunc(slices.Clone(refs), known)); err != nil {
		return nil, err
	}
	var made []merge.Made
	for _, r := range refs {
		own, err := isWork(ctx, repo, r, base, kept)
		if err != nil {
			return nil, err
		}
		made = append(made, merge.Made{Name: r.Name, ID: r.ID, Own: own})
	}
	return made, nil
}

// isWork reports whether a ref points at the work, or at the same change as it was before ralph moved the work to another commit.
func isWork(ctx context.Context, repo *git.Repo, r slot.MadeRef, base string, kept slot.Work) (bool, error) {
	if r.Known || r.Tree == "" || r.Tree == kept.Tree {
		return !r.Known && r.Tree != "", nil
	}
	below, err := repo.Line(ctx, "merge-base", base, r.Commit)
	if git.Status(err) == 1 { // they have no history in common
		return false, nil
	}
	if err != nil {
		return false, err
	}
	then, err := merge.Patch(ctx, repo, below, r.Commit)
	if err != nil {
		return false, err
	}
	now, err := merge.Patch(ctx, repo, base, kept.Commit)
	return then == now, err
}

// names reports whether a task says the name of a ref, as a word. A branch may be called like any word of the task (fix, test): such a
// task has to speak of branches.
func names(t dag.Task, ref string) bool {
	kind, short, _ := strings.Cut(strings.TrimPrefix(ref, "refs/"), "/")
	text := t.Title + "\n" + t.Description
	other := func(r rune) bool { return !unicode.IsLetter(r) }
	switch {
	case !says(text, short):
		return false
	case kind == "tags", strings.ContainsFunc(short, other), says(text, "refs/heads/"+short):
		return true
	}
	text = strings.ToLower(text)
	return says(text, "branch") || says(text, "branches")
}

func says(text, name string) bool {
	word := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' }
	joins := func(r rune) bool { return strings.ContainsRune("./-+@", r) }
	for at := 0; name != ""; at++ {
		i := strings.Index(text[at:], name)
		if i < 0 {
			return false
		}
		at += i
		before := strings.TrimSuffix(strings.TrimSuffix(text[:at], "refs/tags/"), "refs/heads/")
		last, _ := utf8.DecodeLastRuneInString(before)
		after := text[at+len(name):]
		next, size := utf8.DecodeRuneInString(after)
		further, _ := utf8.DecodeRuneInString(after[size:])
		begins, goesOn := !word(last) && !joins(last), word(next) || joins(next) && word(further)
		if begins && !goesOn {
			return true
		}
	}
	return false
}

// giveRefs puts the refs of the earlier work with which an attempt goes on into its slot.
func (w *Workspace) giveRefs(refs []merge.Made) error {
	give := map[string]string{}
	for _, m := range refs {
		give[m.Name] = m.ID
	}
	w.refs = refs
	return w.slot.GiveRefs(give)
}

// entryRefs are made refs as the queue has them.
func entryRefs(made []merge.Made, there bool) (list []dag.MadeRef) {
	for _, m := range made {
		list = append(list, dag.MadeRef{Name: m.Name, ID: m.ID, Own: m.Own, There: there})
	}
	return list
}

// takenBack are the refs that a revert deletes, which nothing but its entry knows.
func takenBack(c dag.Claim) []dag.MadeRef {
	if !c.Resume {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(c.Merge.Refs), func(r dag.MadeRef) bool { return !r.Gone })
}

// withRefs identifies work that makes refs, to compare it with other work.
func withRefs(patch string, refs []dag.MadeRef) string {
	if len(refs) == 0 {
		return patch
	}
	sum := sha256.New()
	fmt.Fprintln(sum, patch)
	for _, r := range refs {
		fmt.Fprintln(sum, r.Name, r.ID, r.Own)
	}
	return hex.EncodeToString(sum.Sum(nil))[:40]
}

// judged is what an entry does to refs.
func (l *Lane) judged(ctx context.Context, e dag.Merge) (list []Ref, err error) {
	for _, r := range e.Refs {
		j := Ref{Text: r.String(), Asked: r.Gone || r.There}
		if r.Own || e.Work == e.Base {
			j.Asked = j.Asked || names(l.claim.Task, r.Name)
		}
		if j.Clash, err = l.clash(ctx, e, r); err != nil {
			return nil, err
		}
		list = append(list, j)
	}
	return list, nil
}

// refsOfCandidate are the tags and branches of an entry as they would be once it has landed; "" for those that it deletes.
func (w *Workspace) refsOfCandidate(ctx context.Context) (map[string]string, error) {
	refs := map[string]string{}
	for _, r := range w.entry.Refs {
		value, err := r.ID, error(nil)
		if r.Gone {
			value = ""
		} else if !r.There {
			value, err = made(r).Landed(ctx, w.to.Repo, w.entry.Candidate)
		}
		if err != nil {
			return nil, err
		}
		refs[r.Name] = value
	}
	return refs, nil
}

// clash is why a ref cannot be made.
func (l *Lane) clash(ctx context.Context, e dag.Merge, r dag.MadeRef) (string, error) {
	if r.Gone || r.There {
		return "", nil
	}
	now, other, err := merge.ValueOf(ctx, l.Repo, r.Name)
	switch {
	case err != nil:
		return "", err
	case other != "":
		return fmt.Sprintf("it makes %s, and there is %s: git does not have both, or does not know which is meant", r.Short(), dag.MadeRef{Name: other}.Short()), nil
	case now == "":
		return "", nil
	}
	value, err := made(r).Landed(ctx, l.Repo, e.Candidate)
	if err != nil || now == value {
		return "", err
	}
	return fmt.Sprintf("it makes %s, which exists already, at %.10s; nothing overwrites it", r.Short(), now), nil
}

func made(r dag.MadeRef) merge.Made { return merge.Made{Name: r.Name, ID: r.ID, Own: r.Own} }

// refsToLand are the refs of an entry with what each is to be. What exists with another value is a policy.Refused.
func (l *Lane) refsToLand(ctx context.Context, e dag.Merge) ([]dag.MadeRef, error) {
	refs := slices.Clone(e.Refs)
	for i := range refs {
		r := &refs[i]
		if r.Gone || r.There {
			continue
		}
		why, err := l.clash(ctx, e, *r)
		if err != nil {
			return nil, err
		}
		if why != "" {
			if err := l.giveBack(ctx, why); err != nil {
				return nil, err
			}
			return nil, policy.Refused{Reason: why}
		}
		now, _, err := merge.ValueOf(ctx, l.Repo, r.Name)
		r.There = now != "" // a person made the same
		if err == nil {
			r.Value, err = made(*r).Landed(ctx, l.Repo, e.Candidate)
		}
		if err != nil {
			return nil, err
		}
	}
	return refs, nil
}

// writtenRefs are those that landing an entry writes.
func writtenRefs(e dag.Merge) (list []merge.Written) {
	for _, r := range e.Refs {
		if r.Value != "" && !r.There {
			list = append(list, merge.Written{Name: r.Name, Value: r.Value, Gone: r.Gone})
		}
	}
	return list
}

// writeRefs makes the refs of work that has landed. What a person made meanwhile stays.
func (l *Lane) writeRefs(ctx context.Context) {
	if err := merge.WriteRefs(context.WithoutCancel(ctx), l.Repo, writtenRefs(l.entry)); err != nil {
		l.warn(l.claim.Task.ID, "the work has landed, but not all of its tags and branches: "+err.Error())
	}
}
