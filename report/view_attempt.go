package report

import (
	"os"
	"path/filepath"

	"ralph/dag"
	"ralph/internal/jsonval"
)

// AttemptView is one try at a task, with what verified it.
type AttemptView struct {
	ID        string  `json:"id"`
	Run       string  `json:"run"`
	Agent     *string `json:"agent"`
	Model     *string `json:"model"`
	StartedAt string  `json:"started_at"`
	EndedAt   *string `json:"ended_at"`
	Outcome   *string `json:"outcome"`
	Reason    *string `json:"reason"`
	Cost
	Sandbox  *string          `json:"sandbox"`
	Gates    []dag.GateRecord `json:"gates"`
	Verdict  *string          `json:"verdict"`
	Evidence []string         `json:"evidence"`
	PrunedAt *string          `json:"pruned_at"` // when its files were removed
}

// ViewAttempts are attempts as task show prints them; runs is the folder of all runs.
func ViewAttempts(runs string, attempts []dag.Attempt) []AttemptView {
	list := []AttemptView{}
	for _, at := range attempts {
		list = append(list, AttemptView{
			ID: at.ID, Run: at.Run, Agent: jsonval.Text(at.Agent), Model: jsonval.Text(at.Model), StartedAt: stamp(at.StartedAt),
			EndedAt: jsonval.Time(at.EndedAt), Outcome: jsonval.Text(at.Outcome), Reason: jsonval.Text(at.Reason), Cost: CostOf(at.Usage),
			Sandbox: jsonval.Text(at.Sandbox), Gates: jsonval.List(at.Gates), Verdict: jsonval.Text(at.Verdict),
			Evidence: jsonval.List(EvidenceOf(runs, at)), PrunedAt: jsonval.Time(at.PrunedAt),
		})
	}
	return list
}

// EvidenceOf lists the files that show how an attempt was verified.
func EvidenceOf(runs string, at dag.Attempt) []string {
	paths, _ := filepath.Glob(filepath.Join(runs, at.Run, at.ID, "verify*"))
	for i, path := range paths {
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			paths[i] = filepath.Join(path, "transcript.jsonl")
		}
	}
	return paths
}
