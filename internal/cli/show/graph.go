package show

import (
	"fmt"

	"ralph/internal/cli"
	"ralph/internal/render/draw"
)

// DrawLinked draws a tree that says what each task waits for.
func DrawLinked(a *cli.App, nodes []draw.Node) error {
	style := TreeStyle(a)
	style.After = true
	return cli.Written(fmt.Fprint(a.Stdout, draw.Tree(nodes, style)))
}

// TreeStyle fits a tree to the terminal.
func TreeStyle(a *cli.App) draw.Style {
	p := a.Palette()
	return draw.Style{Width: a.Width, Palette: p, State: func(state string) func(string) string { return StatePaint(p, state) }}
}
