package render

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"ralph/event"
)

// TestQueueLaws: nothing of the lifecycle is lost or reordered, no text is
// invented, memory is bounded, and what is missing is counted exactly.
func TestQueueLaws(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 8).Draw(t, "size")
		q := newQueue(size)
		var lifecycle []string
		var out []event.Event
		put, joined := 0, 0
		for range rapid.IntRange(1, 100).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0:
				if e, ok, _ := q.take(); ok {
					out = append(out, e)
				}
			case 1:
				e := event.Event{Type: event.AttemptEnded, Task: fmt.Sprint(len(lifecycle))}
				lifecycle = append(lifecycle, e.Task)
				q.put(e)
			case 2:
				put++
				before, missed := q.uttered, q.missed
				q.put(text("x"))
				if q.uttered == before && q.missed == missed {
					joined++
				}
			default:
				put++
				q.put(tool("1"))
			}
			if q.uttered > size {
				t.Fatalf("%d utterances wait, at most %d may", q.uttered, size)
			}
		}
		for {
			e, ok, _ := q.take()
			if !ok {
				break
			}
			out = append(out, e)
		}
		var settled []string
		shown, missed := 0, 0
		for _, e := range out {
			switch e.Type {
			case event.AttemptEnded:
				settled = append(settled, e.Task)
			case event.Warned:
				n := 0
				if _, err := fmt.Sscan(e.Text, &n); err != nil {
					t.Fatal(err)
				}
				missed += n
			default:
				shown++
			}
		}
		if diff := cmp.Diff(lifecycle, settled); diff != "" {
			t.Fatal(diff)
		}
		if shown+joined+missed != put || q.weight != 0 || q.uttered != 0 {
			t.Fatalf("put %d, shown %d, joined %d, missed %d; left %d, %d bytes", put, shown, joined, missed, q.uttered, q.weight)
		}
	})
}

func TestHugeTextsAreBoundedByTheirWeight(t *testing.T) {
	t.Parallel()
	q := newQueue(2)
	for range 100 {
		q.put(text(strings.Repeat("x", maxText*2)))
	}
	if len(q.items) != 1 || q.missed != 99 {
		t.Errorf("kept %d, missed %d", len(q.items), q.missed)
	}
}
