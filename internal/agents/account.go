package agents

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"ralph/internal/atomicfile"
	"ralph/internal/proc"
	"ralph/internal/ratelimit"
)

// Account tells apart who pays for the work of an agent, whatever the agent is called in a project: by its
// credentials, or where there are none by where it keeps its login. One of ralph's own asks a service, which counts too. Of an agent that nobody described, what it is
// started with counts too. It does not reveal a credential.
func (f Finder) Account(p Preset) string {
	env, _ := f.environment(p)
	parts := append([]string{cmp.Or(p.Family, p.Says), expand(p.Service, env)}, p.StateFolders(env)...)
	for _, name := range Credentials(p, env) {
		parts = append(parts, name+"="+proc.Getenv(env, name))
	}
	if p.Unknown {
		parts = append(parts, p.Command...)
		for _, v := range p.Set {
			parts = append(parts, v.Name+"="+v.Value)
		}
	}
	return fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(parts, "\x00"))))[:24]
}

// Limits is a folder in which the runs of all of a user's projects tell each other which accounts are rate-limited.
// There is one file for each account, which is replaced whole: the last word counts, and nobody waits for a lock.
type Limits struct{ Dir string }

// Limited is what is known about an account.
type Limited struct {
	Until  time.Time `json:"until"`
	Reason string    `json:"reason"`
	At     time.Time `json:"at"` // when it was written
}

// Set stores that an account is limited.
func (l Limits) Set(account string, of Limited) error {
	return atomicfile.WriteJSON(l.file(account), of)
}

// All lists the accounts that are limited. A file that cannot be read says nothing, and neither does one of a clock
// that was wrong: nobody must wait longer than any provider lets them.
func (l Limits) All(now time.Time) map[string]Limited {
	const skew = time.Minute
	files, _ := os.ReadDir(l.Dir) // before the first limit there is none
	all := map[string]Limited{}
	for _, file := range files {
		account, is := strings.CutSuffix(file.Name(), ".json")
		data, err := os.ReadFile(l.file(account))
		var of Limited
		if !is || err != nil || json.Unmarshal(data, &of) != nil {
			continue
		}
		if of.Until.After(now) && of.Until.Sub(now) <= ratelimit.Longest && of.At.Before(now.Add(skew)) {
			all[account] = of
		}
	}
	return all
}

// Lift forgets the limit of an account.
func (l Limits) Lift(account string) error {
	if err := os.Remove(l.file(account)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (l Limits) file(account string) string { return filepath.Join(l.Dir, account+".json") }
