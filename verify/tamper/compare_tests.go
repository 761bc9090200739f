package tamper

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"ralph/internal/human"
)

type place struct {
	test
	pair *pair
}

func (p place) now() string { return p.pair.after.file }

// compare testCommand all changed files of a language at once: a test that is in
// another file now was moved.
func compare(pairs []pair) []Finding {
	missing, extra := map[string][]place{}, map[string][]place{}
	var both [][2]place
	for i := range pairs {
		p := &pairs[i]
		old, now := byName(p, p.before.tests), byName(p, p.after.tests)
		for name, list := range old {
			n := min(len(list), len(now[name]))
			both = append(both, zip(list[:n], now[name][:n])...)
			missing[name] = append(missing[name], list[n:]...)
			now[name] = now[name][n:]
		}
		for name, list := range now {
			extra[name] = append(extra[name], list...)
		}
	}
	for name, list := range missing {
		n := min(len(list), len(extra[name]))
		both = append(both, zip(list[:n], extra[name][:n])...)
		missing[name], extra[name] = list[n:], extra[name][n:]
	}
	findings := newlySkipped(both, flatten(extra))
	findings = append(findings, newlySilenced(pairs)...)
	return append(findings, vanished(pairs, flatten(missing), flatten(extra))...)
}

// byName groups tests; those with the fewest skips come first. A helper and a test
// of the same name are two things.
func byName(p *pair, tests []test) map[string][]place {
	groups := map[string][]place{}
	for _, t := range tests {
		key := t.name
		if t.helper {
			key = "helper " + key
		}
		groups[key] = append(groups[key], place{t, p})
	}
	for _, list := range groups {
		slices.SortStableFunc(list, func(a, b place) int { return len(a.skips) - len(b.skips) })
	}
	return groups
}

func zip(a, b []place) [][2]place {
	out := make([][2]place, len(a))
	for i := range a {
		out[i] = [2]place{a[i], b[i]}
	}
	return out
}

func flatten(groups map[string][]place) []place {
	var all []place
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		all = append(all, groups[name]...)
	}
	return all
}

// newlySkipped names the tests that are still there and are skipped in more ways
// than before, also by a helper that is new.
func newlySkipped(both [][2]place, appeared []place) []Finding {
	helpers := map[string]string{}
	for _, p := range appeared {
		if p.helper && len(p.skips) > 0 {
			helpers[p.name] = p.skips[0]
		}
	}
	type group struct{ file, how, what string }
	groups := map[group][]string{}
	for _, pair := range both {
		was, is := pair[0], pair[1]
		how := ""
		if len(is.skips) > len(was.skips) {
			how = gained(was.skips, is.skips)
		} else if name := calls(is, helpers); name != "" {
			how = helpers[name] + " in " + name
		}
		if how == "" {
			continue
		}
		g := group{is.now(), how, "test"}
		if is.helper {
			g.what = "helper"
		}
		groups[g] = append(groups[g], is.name)
	}
	var findings []Finding
	for g, names := range groups {
		slices.Sort(names)
		what := "test newly skipped"
		switch {
		case g.what == "helper":
			what = "helper newly skips tests"
		case len(names) > 1:
			what = "tests newly skipped"
		}
		findings = append(findings, Finding{g.file, fmt.Sprintf("%s: %s in %s (%s)", what, list(names), plain(g.file), g.how)})
	}
	return findings
}

// gained is the first way that was not there before.
func gained(was, is []string) string {
	left := slices.Clone(was)
	for _, how := range is {
		at := slices.Index(left, how)
		if at < 0 {
			return how
		}
		left = slices.Delete(left, at, at+1)
	}
	return is[0]
}

func calls(t place, helpers map[string]string) string {
	if len(helpers) == 0 {
		return ""
	}
	for word := range strings.FieldsFuncSeq(t.body, func(r rune) bool { return r < 0x80 && !isWord(byte(r)) }) {
		if _, is := helpers[word]; is && word != t.name {
			return word
		}
	}
	return ""
}

// newlySilenced names what keeps other tests from running, if there is more of it.
func newlySilenced(pairs []pair) []Finding {
	total := map[string]int{}
	added := make([]map[string]int, len(pairs))
	for i, p := range pairs {
		added[i] = map[string]int{}
		for _, how := range p.before.silencers {
			added[i][how]--
			total[how]--
		}
		for _, how := range p.after.silencers {
			added[i][how]++
			total[how]++
		}
	}
	var findings []Finding
	for i, p := range pairs {
		for _, how := range slices.Sorted(maps.Keys(added[i])) {
			if added[i][how] > 0 && total[how] > 0 {
				findings = append(findings, Finding{p.after.file, fmt.Sprintf("tests newly silenced: %s (%s)", plain(p.after.file), how)})
			}
		}
	}
	return findings
}

// vanished names the tests that are gone. Where a file is gone with them, that is
// said of the file; elsewhere a test that came may be one that went, renamed, and
// only their number counts.
func vanished(pairs []pair, missing, extra []place) []Finding {
	var findings []Finding
	gone := map[*pair][]string{}
	var ran, skipped []place
	for _, p := range missing {
		switch {
		case p.helper || p.doubled():
		case p.now() == "":
			gone[p.pair] = append(gone[p.pair], p.name)
		case len(p.skips) > 0:
			skipped = append(skipped, p)
		default:
			ran = append(ran, p)
		}
	}
	for i := range pairs {
		p := &pairs[i]
		if what := p.lost(gone[p]); what != "" {
			findings = append(findings, Finding{p.before.file, what})
		}
	}
	cameRunning, cameSkipped := 0, 0
	for _, p := range extra {
		switch {
		case p.helper:
		case len(p.skips) > 0:
			cameSkipped++
		default:
			cameRunning++
		}
	}
	fewer := max(0, len(ran)-cameRunning)
	less := max(0, len(skipped)-cameSkipped-max(0, cameRunning-len(ran)))
	if less > 0 {
		ran = append(ran, skipped...)
	}
	if fewer+less == 0 {
		return findings
	}
	var names []string
	for _, p := range ran {
		names = append(names, p.name+" in "+plain(p.now()))
	}
	slices.Sort(names)
	return append(findings, Finding{ran[0].now(), human.Count(fewer+less, "test") + " fewer: " + list(names)})
}

// doubled reports whether another test of the file did, and still does, exactly what
// this one did, so that nothing is lost with it.
func (p place) doubled() bool {
	same := func(t test) bool { return t.twin == p.twin && t.name != p.name && len(t.skips) == 0 }
	return p.twin != "" && slices.ContainsFunc(p.pair.before.tests, func(was test) bool {
		return same(was) && slices.ContainsFunc(p.pair.after.tests, func(is test) bool { return same(is) && is.name == was.name })
	})
}

// lost says what was lost with a file that is gone, or that does not hold tests
// any more; names are the tests that are nowhere else.
func (p *pair) lost(names []string) string {
	if p.before.file == "" || p.after.file != "" {
		return ""
	}
	held := slices.ContainsFunc(p.before.tests, func(t test) bool { return !t.helper })
	switch {
	case held && len(names) == 0:
		return "" // moved
	case !held && !p.before.named:
		return "" // a helper, as far as anyone can tell
	case !held && p.renamed != "" && path.Ext(p.renamed) == path.Ext(p.before.file):
		return "" // a helper that others use, too, now
	}
	what := "test file deleted: " + plain(p.before.file)
	switch {
	case p.renamed != "":
		what = fmt.Sprintf("test file renamed so that it does not run: %s -> %s", plain(p.before.file), plain(p.renamed))
	case !p.before.named:
		what = "tests deleted with " + plain(p.before.file)
	}
	if len(names) > 0 {
		slices.Sort(names)
		what += " (" + list(names) + ")"
	}
	return what
}

func list(names []string) string {
	shown := make([]string, len(names))
	for i, name := range names {
		shown[i] = plain(name)
	}
	return human.List(shown, 10)
}
