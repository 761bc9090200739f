package land

import (
	"context"

	"ralph/verify"
)

// View is the slot of an attempt that only looks at what is there: it has nothing to keep, and nothing to land.
type View struct{ *Workspace }

// Keep keeps nothing.
func (View) Keep(context.Context) (left []string, err error) { return nil, nil }

// Room is the slot itself: nothing is judged, and whoever looks sees what the attempt sees.
func (v View) Room() (verify.Gates, []string) { return verify.Gates{Dir: v.slot.Dir()}, v.slot.Env() }
