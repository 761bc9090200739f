package dag

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"ralph/internal/db"
)

// Names of locks with a meaning: a path excludes those that contain it and those that it
// contains; an agent's is its place among those at work, and no task's to ask for.
const (
	pathLock  = "path:"
	agentLock = "agent:"
)

const maxLock = 1 << 10

// cleanClaims brings what a task says about locks and paths into the form in which it is stored.
func cleanClaims(locks, paths *[]string) (err error) {
	if *locks, err = cleanLocks(*locks); err == nil {
		*paths, err = cleanPaths(*paths)
	}
	return err
}

// cleanLocks brings the names of locks into the one form and order in which they are stored.
func cleanLocks(names []string) ([]string, error) {
	return clean(names, func(name string) (string, error) {
		p, isPath := strings.CutPrefix(name, pathLock)
		switch {
		case strings.HasPrefix(name, agentLock):
			return "", fmt.Errorf("%w: the lock %q is of an agent: its at_once says how many work at once", ErrRefused, name)
		case isPath:
			p, err := cleanPath(p)
			return pathLock + p, err
		case strings.ContainsFunc(name, unicode.IsSpace):
			return "", fmt.Errorf("%w: the lock %q has a space in it", ErrRefused, name)
		}
		return name, nil
	})
}

// cleanPaths does that to globs. What ends in a slash is all below it.
func cleanPaths(globs []string) ([]string, error) {
	return clean(globs, func(glob string) (string, error) {
		if strings.HasSuffix(glob, "/") {
			glob += "**"
		}
		return cleanPath(glob)
	})
}

func clean(list []string, one func(string) (string, error)) ([]string, error) {
	var cleaned []string
	for _, text := range list {
		text = strings.TrimSpace(text)
		if text == "" || len(text) > maxLock || !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl) {
			return nil, fmt.Errorf("%w: %q can be neither a lock nor a path", ErrRefused, text)
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
	if p == "" || path.IsAbs(cleaned) || cleaned == ".." || strings.HasPrefix(cleaned, "../") {
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

// overlap says that one of two paths contains the other.
func overlap(a, b string) bool { return contains(a, b) || contains(b, a) }

func contains(dir, p string) bool { return dir == "." || dir == p || strings.HasPrefix(p, dir+"/") }

// LockHolder is who holds a lock.
type LockHolder struct{ Name, Attempt, Task string }

const (
	locksSQL     = `SELECT l.name, l.attempt, a.task_id FROM locks l JOIN attempts a ON a.id = l.attempt ORDER BY l.name, a.n;`
	takeLockSQL  = `INSERT INTO locks (name, attempt) VALUES (:name, :attempt);`
	heldLocksSQL = `SELECT name, count(*) FROM locks GROUP BY name;`
)

// Locks lists the locks that are held, with the places of agents, as "agent:NAME".
func (g *Graph) Locks() ([]LockHolder, error) {
	return db.All(g.tx, locksSQL, func(r *db.Row) LockHolder { return LockHolder{r.Text(), r.Text(), r.Text()} })
}

// AddLocks gives a task further locks, which the next claim of it takes too.
func (g *Graph) AddLocks(id string, names ...string) error {
	t, err := g.Task(id)
	if err != nil {
		return err
	}
	all := slices.Concat(t.Locks, names)
	return g.Edit(id, Edit{Locks: &all})
}
