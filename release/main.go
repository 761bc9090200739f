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
	"regexp"
	"strings"
)

// placeholder stands in files of the repository for where the project is, which only who publishes it knows.
const placeholder = "https://github.com/OWNER/ralph"

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
	config   config
	root     string
	out      string
	home     string
	version  string
	only     string // a system and a processor, such as linux/amd64; empty means all of .goreleaser.yaml
	snapshot bool   // it is not published, so it may have no home, no packages, and what is not committed
	say      func(format string, args ...any)
}

func run(ctx context.Context, args []string, log io.Writer) error {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	flags.SetOutput(log)
	m := maker{say: func(format string, args ...any) { fmt.Fprintf(log, format+"\n", args...) }}
	flags.StringVar(&m.root, "root", "..", "the project")
	flags.StringVar(&m.out, "out", "dist", "the folder of the release, relative to the project; a release that is there is removed")
	flags.StringVar(&m.version, "version", "", "the version, such as 0.1.0; empty means that of the tag of this commit")
	flags.StringVar(&m.home, "home", "", "where the project and its releases are, instead of "+placeholder)
	flags.StringVar(&m.only, "only", "", "one system and processor, such as linux/amd64; there is no formula then")
	flags.BoolVar(&m.snapshot, "snapshot", false, "not to be published: -home may be missing, and nfpm, and files may differ from the commit")
	flags.Usage = func() { fmt.Fprint(log, usage); flags.PrintDefaults() }
	if err := flags.Parse(args); err != nil {
		return err
	}
	var err error
	if m.root, err = filepath.Abs(m.root); err != nil {
		return err
	}
	if !filepath.IsAbs(m.out) {
		m.out = filepath.Join(m.root, m.out)
	}
	if m.config, err = readConfig(filepath.Join(m.root, ".goreleaser.yaml")); err != nil {
		return err
	}
	if m.only != "" && len(m.targets()) == 0 {
		return fmt.Errorf("-only %s is none of the systems and processors of .goreleaser.yaml, such as linux/amd64", m.only)
	}
	m.home = strings.TrimSuffix(m.home, "/")
	switch command := flags.Arg(0); {
	case command == "share":
		return m.share(ctx)
	case command == "sbom" && flags.NArg() == 4:
		return writeSBOM(flags.Arg(1), flags.Arg(2), flags.Arg(3))
	case command == "rest":
		f, err := m.facts(ctx)
		if err != nil {
			return err
		}
		return m.rest(f)
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
	if _, err := exec.LookPath("nfpm"); err != nil && !m.snapshot {
		return errors.New("nfpm, which makes deb and rpm, is not on PATH: install it (CONTRIBUTING.md says how), or make a -snapshot without them")
	}
	if err := m.clear(); err != nil {
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
	return m.rest(f)
}

// ofARelease are the names of what this program puts into the folder of a release.
var ofARelease = regexp.MustCompile(`^(ralph[_-].*|ralph\.rb|install\.sh|checksums\.txt|linux|darwin|windows)$`)

// clear empties the folder of the release, if there is nothing in it but a release.
func (m *maker) clear() error {
	list, err := os.ReadDir(m.out)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	for _, e := range list {
		if !ofARelease.MatchString(e.Name()) {
			return fmt.Errorf("%s has %s, which is no part of a release: empty that folder yourself, or choose another with -out", m.out, e.Name())
		}
	}
	for _, e := range list {
		if err := os.RemoveAll(filepath.Join(m.out, e.Name())); err != nil {
			return err
		}
	}
	return os.MkdirAll(m.out, 0o755)
}

// rest makes what needs the archives. goreleaser's will do.
func (m *maker) rest(f facts) error {
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
	return m.write("install.sh", m.homed(text), 0o755)
}

// readme is README.md, with the place where releases are.
func (m *maker) readme() ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(m.root, "README.md"))
	return []byte(m.homed(text)), err
}

func (m *maker) homed(text []byte) string {
	if m.home == "" {
		return string(text)
	}
	return strings.ReplaceAll(string(text), placeholder, m.home)
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
