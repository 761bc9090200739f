package main

import (
	"path/filepath"
	"testing"

	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// TestReplay runs the workflow against histories of a real server. When it fails, a run that is open while ralph-temporal
// is updated would hang: keep what the history asks for, with workflow.GetVersion. Record with -update.
func TestReplay(t *testing.T) {
	files, err := filepath.Glob("testdata/history-*.json")
	if err != nil || len(files) < 5 {
		t.Fatalf("there are %d histories, %v", len(files), err)
	}
	for _, file := range files {
		r := worker.NewWorkflowReplayer()
		r.RegisterWorkflowWithOptions(Run, workflow.RegisterOptions{Name: workflowName})
		if err := r.ReplayWorkflowHistoryFromJSONFile(nil, file); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}
