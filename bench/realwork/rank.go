package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
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
	scored := score(list)
	n, of := inFirstFifth(scored)
	fmt.Fprintf(out, "%d pieces of work, %d of them wrong: AUC %.3f; in the first fifth: %d of %d wrong ones\n", len(list), of, auc(scored), n, of)
	return nil
}
