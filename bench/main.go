// Command bench measures what ralph's task graph costs and prints it as one
// table of ratios. It lives in a module of its own, because the cgo SQLite that
// it compares with must never enter the product's go.mod.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/pprof"
	"strings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	b := &bench{ctx: ctx}
	flag.BoolVar(&b.quick, "quick", false, "small graphs only, for a smoke run")
	flag.StringVar(&b.root, "root", "..", "the `folder` of the ralph module")
	flag.StringVar(&b.only, "only", "", "run the sections whose name contains `text`")
	flag.StringVar(&b.dir, "dir", "", "scratch `folder`; made and removed by default")
	profile := flag.String("cpuprofile", "", "write a CPU profile to `file`")
	flag.Parse()
	if *profile != "" {
		f, err := os.Create(*profile)
		if err == nil {
			err = pprof.StartCPUProfile(f)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		defer pprof.StopCPUProfile()
	}
	if err := b.run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// bench is one run of all measurements.
type bench struct {
	ctx       context.Context //nolint:containedctx // one run, one context
	quick     bool
	root      string
	only      string
	dir       string
	table     table
	pristines map[int]string // graphs built so far, by size
}

func (b *bench) run() error {
	if b.dir == "" {
		dir, err := os.MkdirTemp("", "ralph-bench-")
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(dir) }()
		b.dir = dir
	}
	b.pristines = map[int]string{}
	b.table.unjudged = b.quick
	sections := []struct {
		name string
		fn   func() error
	}{
		{"command", b.command},
		{"import", b.importing},
		{"cgo", b.cgo},
		{"subtree", b.subtree},
		{"claim", b.claim},
		{"memory", b.memory},
	}
	for _, s := range sections {
		if !strings.Contains(s.name, b.only) {
			continue
		}
		b.say("%s ...", s.name)
		if err := s.fn(); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	fmt.Printf("%s\n\n", machine())
	b.table.print(os.Stdout)
	return nil
}

// say keeps whoever waits informed; results go to stdout only.
func (b *bench) say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "bench: "+format+"\n", args...)
}

// path names a scratch file.
func (b *bench) path(parts ...string) string {
	return filepath.Join(append([]string{b.dir}, parts...)...)
}
