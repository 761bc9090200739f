package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"ralph/internal/testing/golden"
)

// TestTheManualIsDocumented writes docs/ralph.1 from what the commands say of themselves.
func TestTheManualIsDocumented(t *testing.T) {
	t.Parallel()
	page := newBench(t).run(0, "man")
	golden.Check(t, "../../docs/ralph.1", page)
	plain := strings.NewReplacer(`\-`, "-", `\e`, `\`).Replace(page)
	var walk func(path string, commands []*cli.Command)
	walk = func(path string, commands []*cli.Command) {
		for _, c := range commands {
			if c.Hidden {
				continue
			}
			if !strings.Contains(plain, "\n.SS "+path+" "+c.Name) {
				t.Errorf("the manual has no %s %s", path, c.Name)
			}
			for _, f := range c.Flags {
				if !strings.Contains(plain, "--"+f.Names()[0]) {
					t.Errorf("the manual has no --%s", f.Names()[0])
				}
			}
			walk(path+" "+c.Name, c.Subcommands)
		}
	}
	walk("ralph", newApp(system{}).cli.Commands)
	for line := range strings.Lines(page) {
		if word, _, _ := strings.Cut(strings.TrimSpace(line), " "); strings.HasPrefix(word, ".") &&
			!slices.Contains(strings.Fields(".TH .SH .SS .TP .B .PP .nf .fi .RS .RE"), word) {
			t.Errorf("unknown request in %q", line)
		}
	}
	if groff, err := exec.LookPath("groff"); err == nil {
		cmd := exec.CommandContext(t.Context(), groff, "-man", "-Tutf8", "-ww")
		cmd.Stdin = strings.NewReader(page)
		var complaints strings.Builder
		cmd.Stderr = &complaints
		if err := cmd.Run(); err != nil || complaints.Len() > 0 {
			t.Errorf("%v: %s", err, complaints.String())
		}
	}
}
