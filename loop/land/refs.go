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
	"ralph/internal/seq"
	"ralph/internal/slot"
	"ralph/loop/policy"
	"ralph/merge"
)

// Tags and branches that an attempt makes in its slot are work, too. In ten lines:
//
//  1. A slot notes which refs it was given (slot.Refs lists the others).
//  2. Keep brings their objects into the repository, and names each below refs/ralph/made, with the attempt.
//  3. An attempt that goes on with earlier work, or only lands it, gets its refs back into the slot.
//  4. The entry of the queue has them, and so do the patch by which acceptance is known, what is judged, and who reviews it.
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
	made, err := madeRefs(ctx, w.slot, w.Here(), w.claim.Task, kept, w.refs)
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
	made, err := madeRefs(ctx, at, false, t, kept, earlier[last.ID])
	return seq.Map(made, func(m merge.Made) merge.Ref { return merge.Ref{Name: merge.MadeRef(m, last.ID), Commit: m.ID} }), err
}

// madeRefs brings what an attempt made of tags and branches into the repository. Agents work on branches of their own: one that the task
// does not name counts only if nothing else was changed. In the project's own folder people make some, too: those count that it names.
func madeRefs(ctx context.Context, s *slot.Slot, here bool, t dag.Task, kept slot.Work, earlier []merge.Made) ([]merge.Made, error) {
	base := s.Base()
	refs, err := s.Refs(ctx, base, seq.Map(earlier, func(m merge.Made) string { return m.Name })...)
	if err != nil || len(refs) == 0 {
		return nil, err
	}
	refs = slices.DeleteFunc(refs, func(r slot.MadeRef) bool {
		branch := strings.HasPrefix(r.Name, "refs/heads/")
		return !names(t, r.Name) && (branch && kept.Commit != base || here)
	})
	made := seq.Map(refs, func(r slot.MadeRef) merge.Made {
		m := merge.Made{Name: r.Name, ID: r.ID, Own: !r.Known && r.Tree != "" && r.Tree == kept.Tree}
		m.Own = m.Own || slices.Contains(earlier, merge.Made{Name: r.Name, ID: r.ID, Own: true})
		return m
	})
	known := func(r slot.MadeRef) bool {
		return slices.ContainsFunc(earlier, func(m merge.Made) bool { return m.ID == r.ID })
	}
	return made, s.Bring(ctx, base, slices.DeleteFunc(slices.Clone(refs), known))
}

// names reports whether a task says the name of a ref, as a word.
func names(t dag.Task, ref string) bool {
	_, short, _ := strings.Cut(strings.TrimPrefix(ref, "refs/"), "/")
	return says(t.Title+"\n"+t.Description, short)
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

// giveRefs puts what the earlier work made, with which an attempt goes on, into its slot.
func (l *Lander) giveRefs(ctx context.Context, w *Workspace, claim dag.Claim, script bool) error {
	w.lands = true
	if script && !claim.Resume { // it makes them again
		return nil
	}
	made, err := merge.MadeBy(ctx, l.Repo)
	if err != nil || len(made) == 0 {
		return err
	}
	var from []merge.Made
	if claim.Resume {
		from = made[claim.Resumed.ID]
	} else {
		var attempts []dag.Attempt
		if err := l.Store.View(ctx, func(g *dag.Graph) (err error) { attempts, err = g.Attempts(claim.Task); return err }); err != nil {
			return err
		}
		for _, a := range slices.Backward(attempts) {
			if a.StartedAt.Before(claim.Task.StartedAt) { // then the task was reset
				break
			}
			if from = made[a.ID]; len(from) > 0 {
				break
			}
		}
	}
	give := map[string]string{}
	for _, m := range from {
		give[m.Name] = m.ID
	}
	w.refs = from
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

// withRefs is what tells whether two works are the same, if they make refs.
func withRefs(patch string, refs []dag.MadeRef) string {
	if len(refs) == 0 {
		return patch
	}
	sum := sha256.New()
	fmt.Fprintln(sum, patch)
	for _, r := range refs {
		fmt.Fprintln(sum, r.Name, r.ID, r.Own)
	}
	return hex.EncodeToString(sum.Sum(nil))[:max(len(patch), 40)]
}

// judged is what an entry does to refs.
func (l *Lane) judged(ctx context.Context, e dag.Merge) (list []Ref, err error) {
	for _, r := range e.Refs {
		j := Ref{Text: r.String(), Asked: r.Gone || r.There || names(l.claim.Task, r.Name) && (r.Own || e.Work == e.Base)}
		if j.Clash, err = l.clash(ctx, e, r); err != nil {
			return nil, err
		}
		list = append(list, j)
	}
	return list, nil
}

// clash is why a ref cannot be made.
func (l *Lane) clash(ctx context.Context, e dag.Merge, r dag.MadeRef) (string, error) {
	if r.Gone || r.There {
		return "", nil
	}
	now, err := merge.ValueOf(ctx, l.Repo, r.Name)
	if err != nil || now == "" {
		return "", err
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
		now, err := merge.ValueOf(ctx, l.Repo, r.Name)
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

// writeRefs makes the refs of work that has landed. What somebody made in this moment stays.
func (l *Lane) writeRefs(ctx context.Context) {
	if err := merge.WriteRefs(context.WithoutCancel(ctx), l.Repo, writtenRefs(l.entry)); err != nil {
		l.warn(l.claim.Task.ID, "the work has landed, but not all of its tags and branches: "+err.Error())
	}
}
