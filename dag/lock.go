package dag

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"ralph/internal/db"
)

// Names of locks with a meaning: a path excludes those that contain it and those that it
// contains. A slot, and an agent's place among those at work, are no task's to ask for.
const (
	pathLock  = "path:"
	slotLock  = "slot:"
	agentLock = "agent:"
)

// isLabel reports whether a text that others give can be shown on a line.
func isLabel(text string) bool {
	return len(text) <= 1<<10 && utf8.ValidString(text) && !strings.ContainsFunc(text, unicode.IsControl)
}

// Here is the slot that is the project's own folder: one attempt at a time works there. No other slot ever has this number.
const Here = 512

var hereLock = slotLock + strconv.Itoa(Here)

const notALock = "neither a lock nor a path"

// cleanLocks brings the names of locks into the one form and order in which they are stored.
func cleanLocks(names []string) ([]string, error) {
	return clean(names, notALock, func(name string) (string, error) {
		p, isPath := strings.CutPrefix(name, pathLock)
		switch {
		case strings.HasPrefix(name, agentLock), strings.HasPrefix(name, slotLock):
			return "", fmt.Errorf("%w: the lock %q is one that ralph takes itself", ErrRefused, name)
		case isPath:
			p, err := cleanPath(p)
			return pathLock + p, err
		case strings.ContainsFunc(name, unicode.IsSpace):
			return "", fmt.Errorf("%w: the lock %q has a space in it", ErrRefused, name)
		}
		return name, nil
	})
}

// CheckLocks refuses what can be the name of no lock.
func CheckLocks(names []string) error { _, err := cleanLocks(names); return err }

// cleanPaths does that to globs. What ends in a slash is all below it.
func cleanPaths(globs []string) ([]string, error) {
	return clean(globs, notALock, func(glob string) (string, error) {
		if strings.HasSuffix(glob, "/") {
			glob += "**"
		}
		return cleanPath(glob)
	})
}

// clean brings texts into one form and order; what they cannot be is for the error.
func clean(list []string, what string, one func(string) (string, error)) ([]string, error) {
	var cleaned []string
	for _, text := range list {
		text = strings.TrimSpace(text)
		if text == "" || !isLabel(text) {
			return nil, fmt.Errorf("%w: %q can be %s", ErrRefused, text, what)
		}
		text, err := one(text)
		if err != nil {
			return nil, err
		}
		cleaned = append(cleaned, text)
	}
	slices.Sort(cleaned)
	return slices.Compact(cleaned), nil
}

func cleanPath(p string) (string, error) {
	cleaned := path.Clean(p)
	if p == "" || !fs.ValidPath(cleaned) {
		return "", fmt.Errorf("%w: the path %q is not below the project", ErrRefused, p)
	}
	return cleaned, nil
}

// lockNames are the locks that a claim of a task takes. A glob stands for the folder, or the file,
// below which all lies that it can match.
func lockNames(locks, paths []string) []string {
	names := slices.Clone(locks)
	for _, glob := range paths {
		literal := "."
		for segment := range strings.SplitSeq(glob, "/") {
			if strings.ContainsAny(segment, `*?[{\`) {
				break
			}
			literal = path.Join(literal, segment)
		}
		names = append(names, pathLock+literal)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// excludes says that two locks are one, or that one of two paths contains the other.
func excludes(a, b string) bool {
	if a == b {
		return true
	}
	dir, isPath := strings.CutPrefix(a, pathLock)
	other, alsoPath := strings.CutPrefix(b, pathLock)
	if !isPath || !alsoPath {
		return false
	}
	return contains(dir, other) || contains(other, dir)
}

func contains(dir, p string) bool { return dir == "." || strings.HasPrefix(p, dir+"/") }

// LockHolder is who has a lock. Without an attempt the task is the first that waits for it.
type LockHolder struct{ Name, Attempt, Task string }

// String names the lock and who has it.
func (l LockHolder) String() string {
	name, how := "lock "+l.Name, "held by"
	if agent, is := strings.CutPrefix(l.Name, agentLock); is {
		name = "a place of " + agent
	} else if l.Name == hereLock {
		name = "this folder"
	}
	if l.Attempt == "" {
		how = "reserved for"
	}
	return fmt.Sprintf("%s, %s %s", name, how, l.Task)
}

const (
	locksSQL     = `SELECT name, attempt, task_id FROM locks ORDER BY name, attempt;`
	takeLockSQL  = `INSERT INTO locks (name, attempt, task_id) VALUES (:name, :attempt, :task);`
	freeLocksSQL = `DELETE FROM locks WHERE attempt = :id;`
)

// Locks lists what is held, with slots, as "slot:N", and the places of agents, as "agent:NAME".
func (g Queue) Locks() ([]LockHolder, error) {
	return db.All(g.tx, locksSQL, func(r *db.Row) LockHolder { return LockHolder{r.Text(), r.Text(), r.Text()} })
}

// LockFiles gives a task locks on files, which the next claim of it takes too. A name that cannot be that of a
// lock is left out.
func (g Plan) LockFiles(id string, files ...string) error {
	t, err := g.tasks().Get(id)
	if err != nil || len(files) == 0 {
		return err
	}
	for _, name := range files {
		if cleaned, err := cleanLocks([]string{pathLock + name}); err == nil {
			t.Locks = append(t.Locks, cleaned...)
		}
	}
	return g.Edit(id, t.Detail, "locks")
}

const (
	inSlotsSQL  = attemptSelect + `WHERE a.id IN (SELECT l.attempt FROM locks l WHERE l.name GLOB 'slot:*') ORDER BY a.slot;`
	anySlotSQL  = `SELECT count(*) FROM (SELECT 1 FROM attempts INDEXED BY attempts_slot WHERE slot IS NOT NULL LIMIT 1);`
	lastSlotSQL = `SELECT slot FROM attempts WHERE task = :task AND slot IS NOT NULL ORDER BY n DESC LIMIT 1;`
)

// InSlots lists the attempts that have a slot, by slot. The agent of one that has ended may still be at work.
func (g Queue) InSlots() ([]Attempt, error) { return db.All(g.tx, inSlotsSQL, scanAttempt) }

// UsesSlots says whether there ever was an attempt in a slot.
func (g Queue) UsesSlots() bool { return g.number(anySlotSQL) > 0 }
