package fakeagent

import (
	"os"
	"path/filepath"
	"testing"

	"ralph/internal/testing/check"
)

func TestAnEntryWhoseProcessWasKilledInItsWriteCostsNoOther(t *testing.T) {
	dir := t.TempDir()
	l := ledger{dir: dir}
	l.add(Entry{Event: "started"})
	whole, err := os.ReadFile(filepath.Join(dir, "ledger.jsonl"))
	check.OK(t, err)
	for cut := range whole {
		check.OK(t, os.WriteFile(filepath.Join(dir, "ledger.jsonl"), whole[:cut], 0o600))
		l.add(Entry{Event: "finished"})
		entries, err := ReadLedger(dir)
		check.OK(t, err)
		check.Equal(t, "the last entry", "finished", entries[len(entries)-1].Event)
	}
}
