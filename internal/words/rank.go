package words

import "math"

// What bm25 is tuned with: as FTS5 is.
const (
	saturation = 1.2  // how little a word's repetition adds
	lengths    = 0.75 // how much a long text is held against it
)

// Term is a word that is searched for, and how many texts, of how many, hold it.
type Term struct {
	Word       string
	Docs, Rows int
}

// Weight is the inverse document frequency: the rarer a word, the more it counts.
func (t Term) Weight() float64 {
	docs, rows := float64(t.Docs), float64(max(t.Rows, t.Docs))
	return math.Log(1 + (rows-docs+0.5)/(docs+0.5))
}

// Part is a part of a text, such as its title, and how often a word of it counts.
type Part struct {
	Text  string
	Times int
}

// Scores returns what bm25 gives each text for the terms.
func Scores(texts [][]Part, terms []Term) []float64 {
	times := make([][]float64, len(texts))
	length := make([]int, len(texts))
	total := 0
	for i, parts := range texts {
		times[i] = make([]float64, len(terms))
		for _, part := range parts {
			for word := range All(part.Text) {
				length[i]++
				for j, t := range terms {
					if word == t.Word {
						times[i][j] += float64(part.Times)
					}
				}
			}
		}
		total += length[i]
	}
	scores := make([]float64, len(texts))
	for i := range texts {
		average := float64(max(total, 1)) / float64(len(texts))
		norm := saturation * (1 - lengths + lengths*float64(length[i])/average)
		for j, t := range terms {
			scores[i] += t.Weight() * times[i][j] * (saturation + 1) / (times[i][j] + norm)
		}
	}
	return scores
}
