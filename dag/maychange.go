package dag

import (
	"fmt"
	"slices"
	"strings"

	"ralph/internal/db"
	"ralph/internal/glob"
)

// EveryCheck is the glob of a task that may change all files that check it.
const EveryCheck = "**"

// CleanMayChange brings globs into the one form and order in which they are stored. What ends in a slash is all below it. A way back up is
// refused: a person would read tests/.. as tests.
func CleanMayChange(globs []string) ([]string, error) {
	return clean(globs, "no glob of files", func(pattern string) (string, error) {
		if strings.HasPrefix(pattern, "!") {
			return "", fmt.Errorf("%w: %q takes something out; name what the task may change", ErrRefused, pattern)
		}
		if strings.HasSuffix(pattern, "/") {
			pattern += EveryCheck
		}
		back := slices.Contains(strings.Split(pattern, "/"), "..")
		pattern, err := cleanPath(pattern)
		if err == nil && back {
			err = fmt.Errorf("%w: a glob with .. leads back up; name what the task may change", ErrRefused)
		}
		if err == nil && pattern == "." {
			pattern = EveryCheck
		}
		if err == nil && glob.Valid(pattern) != nil {
			err = fmt.Errorf("%w: %w", ErrRefused, glob.Valid(pattern))
		}
		return pattern, err
	})
}

// CheckMayChange refuses globs of files that no task can be allowed to change.
func CheckMayChange(globs []string) error { _, err := CleanMayChange(globs); return err }

const mayChangeSQL = `UPDATE tasks SET may_change = :globs, updated_at = :now WHERE n = :n;`

// AllowChange lets a task change more files that check it.
func (g Plan) AllowChange(id string, globs []string) error {
	t, err := g.tasks().Get(id)
	if err != nil {
		return err
	}
	all, err := CleanMayChange(slices.Concat(t.MayChange, globs))
	if err != nil {
		return err
	}
	return g.tx.Exec(mayChangeSQL, ":n", t.N, ":globs", db.JSON(all), ":now", g.millis())
}
