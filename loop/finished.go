package loop

import (
	"encoding/json"
	"os"
	"path/filepath"

	"ralph/dag"
	"ralph/internal/atomicfile"
	"ralph/internal/provenance"
	"ralph/loop/attempt"
)

const finishedFile = "finished.json"

// writeFinished stores what the verification of an attempt's work needs if the run dies, whole or not at all. It is sealed before, because some
// agents can write the folder of runs.
func writeFinished(trust provenance.Store, folder string, f *attempt.Finished) error {
	data, err := json.MarshalIndent(f, "", "  ")
	if err == nil {
		_ = trust.Seal(sealOf(filepath.Base(folder)), string(data)) // without a seal it spares no check
		err = atomicfile.Write(filepath.Join(folder, finishedFile), data)
	}
	return err
}

func sealOf(attempt string) string { return "finished " + attempt }

// readFinished reads what an attempt left for its verification. One without a seal is an older ralph's, or an agent has written it: of that counts
// what the agent said, and nothing that would spare a check. Spared reports that there was such a thing.
func readFinished(trust provenance.Store, runs string, a dag.Attempt) (f attempt.Finished, spared bool, err error) {
	data, err := os.ReadFile(filepath.Join(runs, a.Run, a.ID, finishedFile))
	if err == nil {
		err = json.Unmarshal(data, &f)
	}
	if err != nil || trust.Sealed(sealOf(a.ID), string(data)) {
		return f, false, err
	}
	spared = f.Evident || f.Set.Split || f.Patch != "" || f.Trees != [2]string{}
	f.Evident, f.Set.Split, f.Patch, f.Trees, f.Gates = false, false, "", [2]string{}, nil
	return f, spared, nil
}
