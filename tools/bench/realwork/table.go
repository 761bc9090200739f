package main

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// line is a result for the log of a replay.
func (r result) line() string {
	if r.Error != "" {
		return fmt.Sprintf("%-30s not replayed: %s", r.ID, strings.Join(strings.Fields(r.Error), " "))
	}
	return fmt.Sprintf("%-30s %-7s %-8s %5.0f s  %s", r.ID, r.Truth, r.Verdict, r.Seconds, r.Rejected)
}

// table is what results say together.
func table(all []result) string {
	var b strings.Builder
	good := slices.DeleteFunc(slices.Clone(all), func(r result) bool { return r.Error != "" })
	count := func(truth, verdict string) (n int) {
		for _, r := range good {
			if (truth == "" || r.Truth == truth) && (verdict == "" || r.Verdict == verdict) {
				n++
			}
		}
		return n
	}
	fmt.Fprintf(&b, "\n%-10s %9s %9s %9s %9s\n", "", accepted, held, rejected, "all")
	for _, truth := range []string{right, wrong, unknown} {
		if n := count(truth, ""); n > 0 {
			fmt.Fprintf(&b, "%-10s %9d %9d %9d %9d\n", truth, count(truth, accepted), count(truth, held), count(truth, rejected), n)
		}
	}
	b.WriteString("\n")
	share := func(what string, n, of int) {
		if of > 0 {
			low, high := wilson(n, of)
			fmt.Fprintf(&b, "%-40s %3d of %-3d %4.0f %% [%.0f, %.0f]\n", what, n, of, percent(float64(n)/float64(of)), percent(low), percent(high))
		}
	}
	share("wrong work that landed", count(wrong, accepted), count(wrong, ""))
	share("wrong work that is held", count(wrong, held), count(wrong, ""))
	share("right work that landed", count(right, accepted), count(right, ""))
	share("right work that is held", count(right, held), count(right, ""))
	share("right work that was rejected", count(right, rejected), count(right, ""))
	share("wrong, of what landed", count(wrong, accepted), count("", accepted))
	listed, landed := risks(good)
	if n, of := inFirstFifth(landed); of > 0 {
		share("wrong landings in the riskiest fifth", n, of)
	}
	if n, of := inUsualFifth(listed); of > 0 {
		share("wrong work in the usual riskiest fifth", n, of)
	}
	b.WriteString(costs(good) + reasons(good))
	for _, r := range all {
		if r.Error != "" {
			b.WriteString("not replayed: " + r.ID + ": " + strings.Join(strings.Fields(r.Error), " ") + "\n")
		} else if r.Truth != r.Label {
			b.WriteString("the corpus says " + r.Label + ", the oracle " + r.Truth + ": " + r.ID + "\n")
		}
	}
	return b.String()
}

func percent(share float64) float64 { return math.Round(100 * share) }

// wilson is the interval in which a share lies with 95 %, after n of so many.
func wilson(n, of int) (low, high float64) {
	const z = 1.959964
	p, m := float64(n)/float64(of), float64(of)
	middle, half := p+z*z/(2*m), z*math.Sqrt(p*(1-p)/m+z*z/(4*m*m))
	return max(0, (middle-half)/(1+z*z/m)), min(1, (middle+half)/(1+z*z/m))
}

// risks are those of what `ralph review --morning` lists, and of what landed.
func risks(list []result) (listed, landed []ranked) {
	for _, r := range list {
		if r.Risk == nil {
			continue
		}
		one := ranked{*r.Risk, r.Truth == wrong}
		if listed = append(listed, one); r.Verdict == accepted {
			landed = append(landed, one)
		}
	}
	return listed, landed
}

// costs is what verification took.
func costs(list []result) string {
	if len(list) == 0 {
		return ""
	}
	mean := func(of func(result) float64) (sum float64) {
		for _, r := range list {
			sum += of(r)
		}
		return sum / float64(len(list))
	}
	times := slices.Sorted(func(yield func(float64) bool) {
		for _, r := range list {
			if !yield(r.VerifySeconds) {
				return
			}
		}
	})
	return fmt.Sprintf("\na verification: %.1f s (median %.1f s), %.1f gate runs that take %.1f s; a replay: %.1f s\n",
		mean(func(r result) float64 { return r.VerifySeconds }), times[len(times)/2], mean(func(r result) float64 { return float64(r.GateRuns) }),
		mean(func(r result) float64 { return r.GateSeconds }), mean(func(r result) float64 { return r.Seconds }))
}

// reasons lists why work did not land.
func reasons(list []result) string {
	type group struct{ verdict, truth, why string }
	ids := map[group][]string{}
	for _, r := range list {
		why := r.Rejected
		if r.Verdict == held {
			why, _, _ = strings.Cut(r.Reason, "\n")
		}
		if r.Verdict != accepted {
			g := group{r.Verdict, r.Truth, why}
			ids[g] = append(ids[g], r.ID)
		}
	}
	var b strings.Builder
	for _, g := range slices.SortedFunc(maps.Keys(ids), func(x, y group) int {
		return cmp.Or(cmp.Compare(x.verdict, y.verdict), cmp.Compare(x.truth, y.truth), cmp.Compare(x.why, y.why))
	}) {
		fmt.Fprintf(&b, "%s %s, %d: %s: %s\n", g.verdict, g.truth, len(ids[g]), g.why, strings.Join(ids[g], " "))
	}
	return b.String()
}
