// Package glob matches the names of a project's files with patterns that people write. It reads no files.
package glob

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// Valid explains why a glob cannot be used. In a glob, * and ? and [a-z] match within a name, ** stands for any
// number of folders, a folder means all that is in it, and ! in front takes out what an earlier glob took in.
func Valid(glob string) error {
	pattern := strings.TrimSuffix(strings.TrimPrefix(glob, "!"), "/")
	if pattern == "" {
		return fmt.Errorf("glob %q names nothing", glob)
	}
	for segment := range strings.SplitSeq(pattern, "/") {
		_, err := path.Match(segment, "")
		switch {
		case segment == "" || segment == "." || segment == "..":
			err = errors.New(". and .. and empty names have no place in it")
		case segment != "**" && strings.Contains(segment, "**"):
			err = errors.New("** must stand alone between slashes")
		case err != nil:
			err = errors.New("a bracket is not closed, or a backslash ends it")
		}
		if err != nil {
			return fmt.Errorf("glob %q: %w", glob, err)
		}
	}
	return nil
}

// Outside lists the files that none of the globs takes in. Without globs there is nothing outside of them.
func Outside(files, globs []string) (list []string) {
	for _, name := range files {
		if len(globs) > 0 && !slices.Contains(globs, ".") && !Match(globs, name) {
			list = append(list, name)
		}
	}
	return list
}

// Match reports whether the last glob that speaks of a file takes it in.
func Match(globs []string, name string) bool {
	is := false
	segments := strings.Split(name, "/")
	for _, glob := range globs {
		pattern, not := strings.CutPrefix(glob, "!")
		if is != !not && matches(strings.Split(strings.TrimSuffix(pattern, "/"), "/"), segments) {
			is = !not
		}
	}
	return is
}

// matches reports whether a pattern matches a path or a folder that it is in. To
// go back to the last ** only is enough, and keeps a long pattern cheap.
func matches(pattern, name []string) bool {
	p, n, star, from := 0, 0, -1, 0
	for n < len(name) {
		switch {
		case p == len(pattern):
			return true // a folder
		case pattern[p] == "**":
			star, from = p, n
			p++
			continue
		}
		if ok, _ := path.Match(pattern[p], name[n]); ok {
			p, n = p+1, n+1
			continue
		}
		if star < 0 {
			return false
		}
		from++
		p, n = star+1, from
	}
	// What is left must need no name; a/** means what is in a, and not a.
	return p == len(pattern)
}
