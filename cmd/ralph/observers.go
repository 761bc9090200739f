package main

import (
	"github.com/urfave/cli/v2"

	"ralph/internal/show"
)

// observers are those that a run tells besides its own file and whoever watches it.
func (a *app) observers(c *cli.Context, s *session) ([]show.Sink, error) {
	var list []show.Sink
	if n := a.notifier(c, s); n != nil {
		list = append(list, n)
	}
	return list, nil
}
