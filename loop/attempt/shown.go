package attempt

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"ralph/internal/git"
	"ralph/internal/human"
	"ralph/internal/seq"
	"ralph/prompt"
	"ralph/verify"
)

// maxPatch is how much of the patch of one file is read; prompts cut further.
const maxPatch = 256 << 10

// shownChanges are the files that the work changed, as a verifier is shown them, and whether only white space and comments did. What
// cannot be read is replaced by the error.
func (a *attempt) shownChanges(ctx context.Context, shown string) (p prompt.Difference, cosmetic bool) {
	base := a.evidence.base.Tree
	p.Base, p.Work = base, shown
	d, err := a.evidence.difference(ctx, base, shown)
	if err != nil {
		p.Files = []prompt.Changed{{Path: "what changed cannot be read", Patch: "(" + err.Error() + ")"}}
		return p, false
	}
	before, after := a.binarySizes(ctx, base, d.Changes), a.binarySizes(ctx, shown, d.Changes)
	for _, c := range d.Changes {
		f := prompt.Changed{Path: c.Path, Old: c.Old, Added: c.Added, Removed: c.Removed, Patch: c.Patch, Cut: c.Cut}
		if c.Kind != git.Modified {
			f.Kind = string(c.Kind)
		}
		if c.Binary {
			f.Size = binarySize(before, after, c)
		}
		p.Files = append(p.Files, f)
	}
	return p, !d.Cut && greenBefore(a.work.Gates) && verify.Cosmetic(d.Changes)
}

// binarySizes are those of changed files that are not text, in a tree. Those that cannot be measured have none.
func (a *attempt) binarySizes(ctx context.Context, tree string, changes []git.Change) map[string]int64 {
	var files []string
	for _, c := range changes {
		if c.Binary {
			files = append(files, human.Parts(c.Path, c.Old)...)
		}
	}
	sizes, _ := a.evidence.trees.Sizes(ctx, tree, files)
	return sizes
}

func binarySize(before, after map[string]int64, c git.Change) string {
	text := "binary"
	if now, is := after[c.Path]; is {
		text += ", " + human.Bytes(now)
	}
	if was, had := before[cmp.Or(c.Old, c.Path)]; had {
		text += ", " + human.Bytes(was) + " before"
	}
	return text
}

// patchOf is the patch of all changes, as far as it was read.
func patchOf(changes []git.Change) string {
	return strings.Join(seq.Map(changes, func(c git.Change) string { return c.Patch }), "")
}

// resolvedConflicts are what the work was in conflict with, and where it can be seen as it was before.
func (a *attempt) resolvedConflicts() (list []string) {
	for _, m := range a.evidence.resolved {
		if len(m.Files) == 0 {
			continue
		}
		text := human.List(m.Files, 10)
		if by := m.By(); len(by) > 0 {
			text += ", with " + human.Few(by)
		}
		list = append(list, text)
	}
	if at := a.evidence.landing.Resolved; at != "" {
		list = append(list, fmt.Sprintf("the work before its first conflict is commit %s", at))
	}
	return list
}

// effort is what the attempt took until now, as far as that is known. A script takes none.
func (a *attempt) effort() string {
	if a.evident() {
		return ""
	}
	var parts []string
	if turns, calls := a.watch.steps(); turns > 0 {
		parts = append(parts, human.Count(turns, "turn"), human.Count(calls, "tool call"))
	}
	used := a.meter.tell()
	if n := used.AllTokens(); n > 0 {
		parts = append(parts, human.Tokens(n))
	}
	if used.CostUSD != nil {
		cost := human.Dollars(*used.CostUSD)
		if used.Unknown {
			cost = "at least " + cost
		}
		parts = append(parts, cost)
	}
	return human.Series(parts, "and")
}
