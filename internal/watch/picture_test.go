package watch

import (
	"testing"

	"ralph/internal/term"
	"ralph/internal/testing/golden"
	"ralph/internal/testing/picture"
)

// TestThePictureIsCurrent draws the picture of the README from the view as it is now.
func TestThePictureIsCurrent(t *testing.T) {
	t.Parallel()
	s := newScreen(100, 26)
	s.palette = term.Palette{On: true}
	golden.Check(t, "../../docs/watch.svg", picture.SVG("ralph watch: the graph, the attempts under way and what the selected one says", s.at80().frame()))
}
