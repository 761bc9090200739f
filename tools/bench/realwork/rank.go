package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
)

// ranked is work with its risk.
type ranked struct {
	risk  float64
	wrong bool
}

// auc is how often wrong work is riskier than right work, of all pairs; half of a pair counts if they are equal.
func auc(list []ranked) float64 {
	won, pairs := 0.0, 0
	for _, w := range list {
		for _, r := range list {
			if !w.wrong || r.wrong {
				continue
			}
			pairs++
			switch {
			case w.risk > r.risk:
				won++
			case w.risk == r.risk:
				won += 0.5
			}
		}
	}
	if pairs == 0 {
		return 0
	}
	return won / float64(pairs)
}

// interval is where an AUC lies with 95 %, as Hanley and McNeil estimate it.
func interval(a float64, wrong, right int) (low, high float64) {
	w, r := float64(wrong), float64(right)
	q1, q2 := a/(2-a), 2*a*a/(1+a)
	half := 1.959964 * math.Sqrt((a*(1-a)+(w-1)*(q1-a*a)+(r-1)*(q2-a*a))/(w*r))
	return max(0, a-half), min(1, a+half)
}

// inFirstFifth is how many wrong ones are in the riskiest fifth, rounded up, of all of them.
func inFirstFifth(list []ranked) (n, of int) {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(x, y ranked) int { return cmp.Compare(y.risk, x.risk) })
	for i, r := range list {
		if r.wrong {
			of++
			if i < (len(list)+4)/5 {
				n++
			}
		}
	}
	return n, of
}

// usualShare is how much of recorded work is wrong: 129 of 500. A corpus holds more wrong work than that, to show more of it, and then
// a fifth of that has not even room for half of it.
const usualShare = 129.0 / 500

// inUsualFifth is how many wrong ones are in the riskiest fifth of a list in which only so much is wrong as usual, of all of them.
func inUsualFifth(list []ranked) (n, of int) {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(x, y ranked) int { return cmp.Compare(y.risk, x.risk) })
	for _, r := range list {
		if r.wrong {
			of++
		}
	}
	if of == len(list) {
		return 0, 0
	}
	before := 0.0
	for _, r := range list {
		weight := (1 - usualShare) / float64(len(list)-of)
		if r.wrong {
			weight = usualShare / float64(of)
		}
		if before += weight; before > 0.2+1e-9 {
			break
		}
		if r.wrong {
			n++
		}
	}
	return n, of
}

// features are what risk knows of recorded work, without any of its words.
type features struct {
	ID       string   `json:"id"`
	Repo     string   `json:"repo"`
	Cost     *float64 `json:"cost"`
	Steps    *int     `json:"steps"`
	Files    int      `json:"files"`
	Lines    int      `json:"lines"`
	Resolved bool     `json:"resolved"`

	patch string
}

func readFeatures(path string) (list []features, err error) {
	if strings.HasSuffix(path, ".json") {
		data, err := os.ReadFile(path)
		if err == nil {
			err = json.Unmarshal(data, &list)
		}
		return list, err
	}
	ids, err := instances(path)
	for _, id := range ids {
		i, err := readInstance(path, id)
		if err != nil {
			return nil, err
		}
		list = append(list, features{i.ID, i.Repo, i.Cost, i.Steps, len(i.Files), i.Added + i.Removed, i.Resolved, i.Patch})
	}
	return list, err
}

// rank prints how well risk ranks recorded work.
func rank(path string, out io.Writer) error {
	list, err := readFeatures(path)
	if err != nil {
		return err
	}
	say := func(what string, scored []ranked) {
		n, of := inFirstFifth(scored)
		low, high := interval(auc(scored), of, len(scored)-of)
		fmt.Fprintf(out, "%-16s AUC %.3f [%.2f, %.2f]; wrong ones in the first fifth: %d of %d, by chance %.0f\n", what, auc(scored), low, high, n, of, float64(of)/5)
	}
	fmt.Fprintf(out, "%d pieces of work\n", len(list))
	say("risk", score(list))
	for i := range list {
		list[i].Cost = nil
	}
	say("without the cost", score(list))
	return nil
}
