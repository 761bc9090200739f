// Command realwork measures what ralph's verdicts are worth on real work: it replays recorded changes, of which it is known
// whether they are right, through a ralph binary, and compares. README.md says how.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const usage = `Usage:
  realwork [flags] RALPH CORPUS BASES [-- flags of ralph run]                       replay CORPUS, with repositories from BASES
  realwork --history N --gate COMMAND [flags] RALPH CORPUS REPOSITORY [-- ...]      the same with N commits of REPOSITORY
  realwork --risk CORPUS                                                            how well risk ranks the work of CORPUS

Flags:
`

// options are those of a replay, as they were typed.
type options struct {
	Ralph, Corpus, Bases      string
	Out, Work, Python         string
	Patch, Gate, Verifier     string
	Only                      string
	Limit, Parallel, History  int
	Timeout                   time.Duration
	Keep, Root                bool
	Flags                     []string // of ralph run
	Stdout, Stderr            io.Writer
	executable, agent, ranked string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	if errors.Is(err, flag.ErrHelp) {
		os.Exit(0)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "realwork:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	o, err := parse(args, stdout, stderr)
	switch {
	case err != nil:
		return err
	case o.agent != "":
		return agent(ctx, o.agent, o.Patch, stdin, stdout)
	case o.ranked != "":
		return rank(o.ranked, stdout)
	}
	if o.Work != "" {
		if err := os.MkdirAll(o.Work, 0o700); err != nil {
			return err
		}
	}
	if o.History > 0 {
		if err := history(ctx, o); err != nil {
			return err
		}
	}
	return replay(ctx, o)
}

func parse(args []string, stdout, stderr io.Writer) (o options, err error) {
	o.Stdout, o.Stderr = stdout, stderr
	f := flag.NewFlagSet("realwork", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.Usage = func() { fmt.Fprint(stderr, usage); f.PrintDefaults() }
	f.StringVar(&o.Out, "out", "realwork.jsonl", "keep results in this `file`, and continue with it")
	f.StringVar(&o.Work, "work", "", "make projects in this `folder` (default: a temporary one)")
	f.StringVar(&o.Python, "python", "python3", "the `program` that {python} in a corpus stands for")
	f.StringVar(&o.Patch, "patch", "recorded", "`whose` change is applied: recorded, gold (the developers') or full (theirs with its tests)")
	f.StringVar(&o.Gate, "gate", "old", "the `gate`: old (the tests that the work could see), none, or a command")
	f.StringVar(&o.Verifier, "verifier", "", "the `command` of an ACP agent that verifies (default: no verifier)")
	f.StringVar(&o.Only, "only", "", "only these `instances`, with commas between them")
	f.IntVar(&o.Limit, "limit", 0, "at most so `many`, spread by the hash of their names; 0 means all")
	f.IntVar(&o.Parallel, "parallel", 2, "so `many` at once")
	f.IntVar(&o.History, "history", 0, "first make a corpus of so `many` commits")
	f.DurationVar(&o.Timeout, "timeout", 15*time.Minute, "end a run or a test command after this `time`")
	f.BoolVar(&o.Keep, "keep", false, "keep the projects")
	f.BoolVar(&o.Root, "root", false, "begin although this is root: the tests of projects run unconfined, and may change the machine")
	f.StringVar(&o.ranked, "risk", "", "say how well risk ranks the work of this corpus: a `folder`, or a file of features")
	f.StringVar(&o.agent, "agent", "", "be the agent that applies the changes of this `corpus`; for ralph")
	for i, word := range args {
		if word == "--" {
			args, o.Flags = args[:i], args[i+1:]
			break
		}
	}
	if err = f.Parse(args); err != nil || o.agent != "" || o.ranked != "" {
		return o, err
	}
	if f.NArg() != 3 {
		f.Usage()
		return o, errors.New("expected RALPH, CORPUS and BASES")
	}
	if changes[o.Patch] == nil {
		return o, fmt.Errorf("--patch %s: expected recorded, gold or full", o.Patch)
	}
	if o.History > 0 && (o.Gate == "old" || o.Gate == "none") {
		return o, errors.New("--history needs --gate COMMAND: what runs the tests")
	}
	if os.Geteuid() == 0 && !o.Root {
		return o, errors.New("the tests of projects run unconfined, and may change the machine when they are root; use an ordinary user or a container, or add --root")
	}
	if o.Parallel < 1 {
		return o, errors.New("--parallel: expected at least 1")
	}
	if o.executable, err = os.Executable(); err != nil {
		return o, err
	}
	o.Ralph, o.Corpus, o.Bases = f.Arg(0), f.Arg(1), f.Arg(2)
	for _, path := range []*string{&o.Ralph, &o.Corpus, &o.Bases, &o.Out} {
		if *path, err = filepath.Abs(*path); err != nil {
			return o, err
		}
	}
	if strings.Contains(o.Python, "/") {
		o.Python, err = filepath.Abs(o.Python)
	}
	return o, err
}
