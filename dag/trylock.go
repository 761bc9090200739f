package dag

import (
	"fmt"
	"slices"
	"strings"
)

const freeLockSQL = `DELETE FROM locks WHERE attempt = :attempt AND name = :name;`

// maxTried is how many locks an attempt may have: a claim reads all that are held.
const maxTried = 64

// TryLocks takes more locks for an attempt at work: all of them, or none if another holds one, which it returns. Limits are how
// many may hold a lock at once where that is not 1. Nobody waits for a lock with others in hand, and the end of the attempt frees them.
func (g Queue) TryLocks(c Claim, names []string, limits map[string]int) (LockHolder, error) {
	names, err := cleanLocks(names)
	if err == nil {
		err = g.Holds(c)
	}
	if err != nil {
		return LockHolder{}, err
	}
	held, err := g.Locks()
	if err != nil {
		return LockHolder{}, err
	}
	p, own := picker{g: g, opts: ClaimOptions{Locks: limits}}, 0
	for _, l := range held {
		if l.Attempt != c.Attempt {
			p.held = append(p.held, l)
			continue
		}
		own++
		names = slices.DeleteFunc(names, func(name string) bool { return name == l.Name })
	}
	if own+len(names) > maxTried {
		return LockHolder{}, fmt.Errorf("%w: an attempt may have %d locks at once", ErrRefused, maxTried)
	}
	if lock, _ := p.obstacle(waiting{locks: names, finished: true}); lock.Name != "" {
		return lock, nil
	}
	for _, name := range names {
		g.tx.Do(takeLockSQL, ":name", name, ":attempt", c.Attempt, ":task", c.Task.ID)
	}
	return LockHolder{}, g.tx.Err()
}

// Unlock gives back locks that TryLocks took, all of them if none is named. Those that came with the claim stay.
func (g Queue) Unlock(c Claim, names []string) error {
	names, err := cleanLocks(names)
	if err == nil {
		err = g.Holds(c)
	}
	if err != nil {
		return err
	}
	held, err := g.Locks()
	if err != nil {
		return err
	}
	claimed := lockNames(c.Task.Locks, c.Task.Paths)
	mine := map[string]bool{}
	for _, l := range held {
		mine[l.Name] = mine[l.Name] || l.Attempt == c.Attempt
	}
	for _, name := range names {
		switch {
		case slices.Contains(claimed, name):
			return fmt.Errorf("%w: the lock %s belongs to the task until it ends", ErrRefused, name)
		case !mine[name]:
			return fmt.Errorf("%w: this attempt does not have the lock %s", ErrRefused, name)
		}
	}
	for name, is := range mine {
		switch {
		case !is, slices.Contains(claimed, name), strings.HasPrefix(name, agentLock), strings.HasPrefix(name, slotLock): // not taken with TryLock
		case len(names) == 0, slices.Contains(names, name):
			g.tx.Do(freeLockSQL, ":attempt", c.Attempt, ":name", name)
		}
	}
	return g.tx.Err()
}
