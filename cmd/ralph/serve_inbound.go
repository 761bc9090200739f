package main

import (
	"context"
	"fmt"

	"ralph/internal/inbound"
	"ralph/internal/project"
)

// inboundOf are the hooks of a configuration, with their secrets from the environment. One whose flags ralph run would refuse is an error.
func inboundOf(ctx context.Context, a *app, config project.Loaded) (list []inbound.Hook, err error) {
	for i, c := range config.Inbound {
		h := inbound.Hook{InboundConfig: c, Secret: []byte(a.getenv(c.SecretEnv))}
		a.redact.Add(string(h.Secret))
		if c.Run != nil {
			if h.Args, err = runArgs(ctx, a, config, fmt.Sprintf("inbound.%d", i+1), c.Name, *c.Run); err != nil {
				return nil, err
			}
		}
		list = append(list, h)
	}
	return list, nil
}
