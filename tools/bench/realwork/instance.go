package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// instance is one piece of work of a corpus: a JSON file.
type instance struct {
	ID       string `json:"id"`
	Repo     string `json:"repo"` // owner/name
	Base     string `json:"base"` // the commit before the work
	Problem  string `json:"problem"`
	Patch    string `json:"patch"`    // the recorded change
	Resolved bool   `json:"resolved"` // it is right

	Cost    *float64 `json:"cost"`  // of the recorded attempt, in USD
	Steps   *int     `json:"steps"` // and how many commands it ran
	Files   []string `json:"files"`
	Added   int      `json:"added"`
	Removed int      `json:"removed"`

	OldTests    string `json:"old_tests"`    // the gate: a command
	HiddenTests string `json:"hidden_tests"` // the oracle: a command that is run with TestPatch
	TestPatch   string `json:"test_patch"`
	GoldPatch   string `json:"gold_patch"`
}

// changes are what the agent applies.
var changes = map[string]func(instance) string{
	"recorded": func(i instance) string { return i.Patch },
	"gold":     func(i instance) string { return i.GoldPatch },
	"full":     func(i instance) string { return i.GoldPatch + i.TestPatch },
}

// What a piece of work is.
const (
	right   = "right"
	wrong   = "wrong"
	unknown = "unknown" // the oracle took too long
)

// label is what the corpus says of the change that is applied.
func (i instance) label(patch string) string {
	if i.Resolved || patch != "recorded" {
		return right
	}
	return wrong
}

func readInstance(corpus, id string) (i instance, err error) {
	data, err := os.ReadFile(filepath.Join(corpus, id+".json"))
	if err != nil {
		return i, err
	}
	if err = json.Unmarshal(data, &i); err == nil && i.ID != id {
		err = fmt.Errorf("it says that it is %q", i.ID)
	}
	if err != nil {
		return i, fmt.Errorf("%s.json: %w", id, err)
	}
	return i, nil
}

func writeInstance(corpus string, i instance) error {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(i); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(corpus, i.ID+".json"), out.Bytes(), 0o600)
}

// instances lists the names in a corpus, spread by their hash: any number of the first is a fair sample.
func instances(corpus string) (ids []string, err error) {
	files, err := filepath.Glob(filepath.Join(corpus, "*.json"))
	if err == nil && len(files) == 0 {
		err = errors.New(corpus + " has no instances")
	}
	for _, name := range files {
		ids = append(ids, strings.TrimSuffix(filepath.Base(name), ".json"))
	}
	slices.SortFunc(ids, func(x, y string) int { return cmp.Compare(spread(x), spread(y)) })
	return ids, err
}

func spread(id string) string {
	sum := sha256.Sum256([]byte(id))
	slices.Reverse(sum[:]) // the first bytes choose the half of a corpus
	return hex.EncodeToString(sum[:])
}
