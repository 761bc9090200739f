package report

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ralph/internal/term"
	"ralph/internal/testing/check"
)

// TestLayoutIsReadable draws random graphs: arrows lead to the right, no two boxes
// overlap, and all of it lies inside the drawing.
func TestLayoutIsReadable(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 60).Draw(t, "boxes")
		boxes := make([]box, n)
		for i := range boxes {
			boxes[i] = box{w: 100, h: rapid.SampledFrom([]float64{10, 32, 60}).Draw(t, "height")}
		}
		var arrows []arrow
		for range rapid.IntRange(0, 2*n).Draw(t, "arrows") {
			from, to := rapid.IntRange(0, n-1).Draw(t, "from"), rapid.IntRange(0, n-1).Draw(t, "to")
			if from < to {
				arrows = append(arrows, arrow{from, to})
			}
		}
		c := layOut(boxes, arrows)
		for _, a := range arrows {
			if c.boxes[a.from].x+c.boxes[a.from].w > c.boxes[a.to].x {
				t.Fatalf("the arrow %v does not lead to the right", a)
			}
		}
		for i, b := range c.boxes[:n] {
			if b.x < 0 || b.y < 0 || b.x+b.w > c.w || b.y+b.h > c.h {
				t.Fatalf("box %d at %.0f,%.0f is outside of %.0fx%.0f", i, b.x, b.y, c.w, c.h)
			}
			for j, o := range c.boxes[:i] {
				if b.x < o.x+o.w && o.x < b.x+b.w && b.y < o.y+o.h-0.01 && o.y < b.y+b.h-0.01 {
					t.Fatalf("boxes %d and %d overlap", i, j)
				}
			}
		}
	})
}

func TestACircleIsDrawnAllTheSame(t *testing.T) {
	t.Parallel()
	c := layOut(make([]box, 3), []arrow{{0, 1}, {1, 2}, {2, 0}})
	check.That(t, len(c.paths) == 3, "got %d paths", len(c.paths))
}

func TestTitlesBreakAtWords(t *testing.T) {
	t.Parallel()
	for title, want := range map[string][2]string{
		"short": {"short", ""},
		"Write the words to greet with in every language": {"Write the words to greet", "with in every language"},
		"Donaudampfschifffahrtsgesellschaftskapitän now":  {"Donaudampfschifffahrtsge…", "now"},
	} {
		first, second := twoLines(title)
		check.Equal(t, title, want, [2]string{first, second})
	}
}

func TestALayerThatIsTooHighIsBroken(t *testing.T) {
	t.Parallel()
	boxes := make([]box, 1001)
	var arrows []arrow
	for i := range boxes {
		boxes[i] = box{w: 100, h: 40}
		if i > 0 {
			arrows = append(arrows, arrow{0, i})
		}
	}
	c := layOut(boxes, arrows)
	check.That(t, c.h <= 2*column*(40+gapY), "the drawing is %.0f high", c.h)
}

// TestWhatIsWrittenInABoxFitsIntoIt: what is written about a task leaves space for the
// number of neighbours that are not drawn.
func TestWhatIsWrittenInABoxFitsIntoIt(t *testing.T) {
	t.Parallel()
	r := Run{Attempts: make([]Attempt, 12)}
	task := Task{Title: "Step", Status: "pending", Attempts: make([]int, 12)}
	r.Attempts[0].Duration = 100 * time.Hour
	b := r.nodeBox(node{task: task, hidden: 100}, box{w: boxWidth, h: boxHeight}, false)
	check.That(t, b.More == "+100" && term.Width(b.Facts)+len(b.More) <= boxLetters, "got %q and %q, which do not fit", b.Facts, b.More)
}

func TestTicks(t *testing.T) {
	t.Parallel()
	for whole, want := range map[time.Duration][]string{
		time.Millisecond:        {"0", "0ms", "0ms", "0ms", "1ms"},
		800 * time.Millisecond:  {"0", "200ms", "400ms", "600ms", "800ms"},
		1666 * time.Millisecond: {"0", "0.4s", "0.8s", "1.2s", "1.7s"},
		10 * time.Second:        {"0", "2s", "5s", "7s", "10s"},
		8 * time.Minute:         {"0", "2m00s", "4m00s", "6m00s", "8m00s"},
	} {
		check.Equal(t, whole.String(), want, ticks(whole))
	}
	for ms := 10; ms < 100_000; ms++ {
		if got := ticks(time.Duration(ms) * time.Millisecond); len(slices.Compact(slices.Clone(got))) != len(got) {
			t.Fatalf("%d ms: the same words twice: %v", ms, got)
		}
	}
}
