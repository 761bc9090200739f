package main

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ralph/internal/testing/check"
	"ralph/internal/testing/fakeagent"
)

// TestTheDoctorSaysWhatItWaitsFor while it waits, on a terminal or not.
func TestTheDoctorSaysWhatItWaitsFor(t *testing.T) {
	t.Parallel()
	silent := fakeagent.Script{At: map[string][]fakeagent.Step{"initialize": {{Do: "hang"}}}}
	const agent = "waiting for fake to say who it is, for at most 1m00s"
	t.Run("an agent, on a terminal", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t, silent)
		screen := p.onTerminal(t, "doctor", "--timeout", "1m")
		screen.expect(t, agent, ctrlC)
		screen.wait(t, 130)
	})
	waits := func(t *testing.T, p *place, line string) {
		t.Helper()
		cmd := p.command("doctor", "--timeout", "1m")
		r, w, err := os.Pipe()
		check.OK(t, err)
		defer r.Close()
		cmd.Stderr = w
		check.OK(t, cmd.Start())
		w.Close()
		lines, said := bufio.NewScanner(r), false
		for !said && lines.Scan() { // on a busy machine other steps may be slow, too
			said = lines.Text() == line
		}
		if !said {
			t.Errorf("it ended without saying %q", line)
		}
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait() // it was interrupted
	}
	t.Run("an agent, in a script", func(t *testing.T) {
		t.Parallel()
		waits(t, newPlace(t, silent), agent)
	})
	t.Run("git", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t, fakeagent.Script{})
		bin := t.TempDir()
		check.OK(t, os.WriteFile(filepath.Join(bin, "git"), []byte("#!/bin/sh\n[ \"$1\" != --version ] || exec sleep 60\n"), 0o700))
		for i, v := range p.env {
			if path, ok := strings.CutPrefix(v, "PATH="); ok {
				p.env[i] = "PATH=" + bin + string(filepath.ListSeparator) + path
			}
		}
		waits(t, p, "waiting for git")
	})
}
