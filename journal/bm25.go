package journal

import (
	"cmp"
	"math"
	"slices"
)

// What bm25 is tuned with; the first two are what FTS5 uses, too.
const (
	saturation  = 1.2  // how little a word's repetition adds
	lengths     = 0.75 // how much a long text is held against it
	titleWeight = 2    // a word of the title counts so often
)

// weight is the inverse document frequency: the rarer a word, the more it counts.
func (t term) weight() float64 {
	docs, rows := float64(t.docs), float64(max(t.rows, t.docs))
	return math.Log(1 + (rows-docs+0.5)/(docs+0.5))
}

// best returns the entries that bm25 ranks first, the newer among equals.
func best(list []Entry, terms []term, limit int) []Entry {
	counts := make([][maxTerms]int, len(list))
	length := make([]int, len(list))
	total := 0
	for i, e := range list {
		counts[i], length[i] = count(e, terms)
		total += length[i]
	}
	score := make(map[int64]float64, len(list))
	for i, e := range list {
		average := float64(max(total, 1)) / float64(len(list))
		norm := saturation * (1 - lengths + lengths*float64(length[i])/average)
		for j, t := range terms {
			times := float64(counts[i][j])
			score[e.N] += t.weight() * times * (saturation + 1) / (times + norm)
		}
	}
	slices.SortFunc(list, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(score[b.N], score[a.N]), cmp.Compare(b.N, a.N))
	})
	return list[:min(len(list), limit)]
}

// count says how often each term occurs in an entry, and how many words it has.
func count(e Entry, terms []term) (times [maxTerms]int, length int) {
	for field, text := range []string{e.Title, e.Notes, e.Reason} {
		for word := range words(text) {
			length++
			for i, t := range terms {
				if word != t.word {
					continue
				}
				times[i]++
				if field == 0 {
					times[i] += titleWeight - 1
				}
			}
		}
	}
	return times, length
}
