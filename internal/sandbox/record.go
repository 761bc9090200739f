package sandbox

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"ralph/internal/proc"
)

// recordName is the file in a run's temporary folder that says which processes it has.
// Confined agents cannot write there.
const recordName = "processes.json"

// recordEvery is how often it is written, if anything has changed.
const recordEvery = time.Second

// RecordProcesses keeps a record of the processes of a run, for whoever recovers from its
// death, until the function that it returns is called. Under namespaces nothing outlives
// its helper, and no record is needed.
func (c *Confiner) RecordProcesses(owner string) (stop func()) {
	if c.Work.Level == Namespaces && c.Verification.Level == Namespaces {
		return func() {}
	}
	done := make(chan struct{})
	var ended sync.WaitGroup
	ended.Go(func() {
		tick := time.NewTicker(recordEvery)
		defer tick.Stop()
		var last []byte
		for {
			last = c.recordNow(owner, last)
			select {
			case <-done:
				return
			case <-tick.C:
			case <-c.started:
			}
		}
	})
	return func() {
		close(done)
		ended.Wait()
	}
}

// Started makes RecordProcesses look again at once: an agent was started.
func (c *Confiner) Started() {
	select {
	case c.started <- struct{}{}:
	default: // it is about to be recorded
	}
}

// recordNow writes the record if it differs from the last one. What cannot be written is
// left: processes also carry a marker.
func (c *Confiner) recordNow(owner string, last []byte) []byte {
	r, err := proc.Take(owner)
	if err != nil {
		return last
	}
	same, err := json.Marshal(r.Processes)
	if err != nil || string(same) == string(last) {
		return last
	}
	data, err := json.Marshal(r)
	if err != nil {
		return last
	}
	path := filepath.Join(c.temp, recordName)
	if os.WriteFile(path+".new", data, 0o600) != nil || os.Rename(path+".new", path) != nil {
		return last
	}
	return same
}

// readRecord reads what a run that was killed left. In a temporary folder that all users
// share, anybody could have made one: only a private folder is believed, and only a
// regular file in it is opened.
func readRecord(dir string) (r proc.Record, err error) {
	path := filepath.Join(dir, recordName)
	for _, at := range []string{dir, path} {
		info, err := os.Lstat(at)
		if err != nil {
			return r, err
		}
		if info.Mode().Perm()&0o077 != 0 || info.IsDir() != (at == dir) || !info.IsDir() && !info.Mode().IsRegular() {
			return r, fmt.Errorf("%s is not what ralph made", at)
		}
	}
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	return r, err
}

func records(root string) []proc.Record {
	var list []proc.Record
	for _, dir := range deadTemps(tempParent(root)) {
		if r, err := readRecord(dir); err == nil {
			list = append(list, r)
		}
	}
	return list
}

// Sweep kills what is left of a run that was killed in a project, by its marker and by
// its record. Count says how many processes Sweep would kill.
func Sweep(root string) func(owner string) (int, error) {
	return func(owner string) (int, error) { return proc.Sweep(owner, records(root)...) }
}

// Count is the dry run of Sweep.
func Count(root string) func(owner string) (int, error) {
	return func(owner string) (int, error) { return proc.Marked(owner, records(root)...) }
}
