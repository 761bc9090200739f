package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/urfave/cli/v2"
)

func versionCommand(a *app) command {
	return command{
		name: "version", short: "print the version",
		flags:   []cli.Flag{jsonFlag()},
		example: "ralph version --json",
		run:     action(a, parsePlain, runVersion),
	}
}

func runVersion(_ context.Context, a *app, o plainOptions) error {
	v := buildVersion()
	if o.json {
		return a.printJSON(v)
	}
	_, err := fmt.Fprintf(a.stdout, "ralph %s (%s, %s/%s)\n", v.Version, v.Go, v.OS, v.Arch)
	return err
}

type versionJSON struct {
	Version  string  `json:"version"`
	Revision *string `json:"revision"`
	Go       string  `json:"go"`
	OS       string  `json:"os"`
	Arch     string  `json:"arch"`
}

// buildVersion is what the toolchain knows about this binary.
func buildVersion() versionJSON {
	v := versionJSON{Version: "devel", Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if info.Main.Version != "" && info.Main.Version != "(devel)" {
		v.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			v.Revision = &s.Value
		}
	}
	return v
}
