// Command release makes the files of a release: archives for each system, lists of their modules, deb and rpm, checksums, a Homebrew
// formula, npm packages and the installer. .goreleaser.yaml says what they are. It publishes nothing.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
)

const usage = `Usage: go run -C release . [flags] COMMAND

  all                             everything, into -out
  share                           completions and the manual page, into release/share
  sbom VERSION BINARY DOCUMENT    the modules of a binary
  rest                            formula, npm packages and install.sh, from the archives and checksums in -out

Flags:
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// maker makes a release of the project at root.
type maker struct {
	config  config
	root    string
	out     string
	home    string
	version string
	only    string // a system and a processor, such as linux/amd64; empty means all of .goreleaser.yaml
	say     func(format string, args ...any)
}

func run(ctx context.Context, args []string, log io.Writer) error {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	flags.SetOutput(log)
	m := maker{say: func(format string, args ...any) { fmt.Fprintf(log, format+"\n", args...) }}
	flags.StringVar(&m.root, "root", "..", "the project")
	flags.StringVar(&m.out, "out", "../dist", "the folder of the release; what is in it is removed")
	flags.StringVar(&m.version, "version", "", "the version, without v; empty means that of the tag of this commit")
	flags.StringVar(&m.home, "home", "https://github.com/OWNER/ralph", "where the project and its releases are")
	flags.StringVar(&m.only, "only", "", "one system and processor, such as linux/amd64")
	flags.Usage = func() { fmt.Fprint(log, usage); flags.PrintDefaults() }
	if err := flags.Parse(args); err != nil {
		return err
	}
	var err error
	if m.root, err = filepath.Abs(m.root); err != nil {
		return err
	}
	if m.out, err = filepath.Abs(m.out); err != nil {
		return err
	}
	if m.config, err = readConfig(filepath.Join(m.root, ".goreleaser.yaml")); err != nil {
		return err
	}
	switch command := flags.Arg(0); {
	case command == "share":
		return m.share(ctx)
	case command == "sbom" && flags.NArg() == 4:
		return writeSBOM(flags.Arg(1), flags.Arg(2), flags.Arg(3))
	case command == "rest":
		return m.rest(ctx)
	case command == "all":
		return m.all(ctx)
	}
	flags.Usage()
	return errors.New("there is no such command")
}

// all makes everything.
func (m *maker) all(ctx context.Context) error {
	f, err := m.facts(ctx)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(m.out); err != nil {
		return err
	}
	if err := os.MkdirAll(m.out, 0o755); err != nil {
		return err
	}
	if err := m.share(ctx); err != nil {
		return err
	}
	var made []string
	for _, t := range m.targets() {
		files, err := m.target(ctx, f, t)
		if err != nil {
			return fmt.Errorf("%s/%s: %w", t.os, t.arch, err)
		}
		made = append(made, files...)
	}
	if err := m.checksums(made); err != nil {
		return err
	}
	return m.rest(ctx)
}

// rest makes what needs the archives. goreleaser's will do.
func (m *maker) rest(ctx context.Context) error {
	f, err := m.facts(ctx)
	if err != nil {
		return err
	}
	for _, step := range []func(facts) error{m.formula, m.npm, m.installer} {
		if err := step(f); err != nil {
			return err
		}
	}
	return nil
}

// installer copies install.sh, with the place that it fetches from.
func (m *maker) installer(facts) error {
	text, err := os.ReadFile(filepath.Join(m.root, "install.sh"))
	if err != nil {
		return err
	}
	return m.write("install.sh", strings.ReplaceAll(string(text), "https://github.com/OWNER/ralph", m.home), 0o755)
}

func (m *maker) write(name, text string, mode os.FileMode) error {
	m.say("%s", name)
	return os.WriteFile(filepath.Join(m.out, name), []byte(text), mode)
}

// output runs a program in the project and returns what it prints.
func (m *maker) output(ctx context.Context, env []string, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = m.root, append(os.Environ(), env...)
	text, err := cmd.Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		err = fmt.Errorf("%w: %s", err, failed.Stderr)
	}
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return string(text), nil
}
