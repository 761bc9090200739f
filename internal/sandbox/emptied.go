package sandbox

import (
	"path/filepath"
	"strings"
)

// emptied lists the temporary folders that the project is in, and what is read in
// them all the same. One that is named itself, because it is somebody's home, stays
// as it is.
func emptied(project string, read, programs []string) (folders, inside []string) {
	for _, dir := range []string{"/tmp", "/var/tmp"} {
		real, err := filepath.EvalSymlinks(dir)
		if err != nil || !within(project, real) {
			continue
		}
		var found []string
		named := false
		for _, path := range read {
			named = named || path == real
			if within(path, real) && !within(path, project) && path != project {
				found = append(found, path)
			}
		}
		for _, path := range programs {
			if within(path, real) && !within(path, project) && !within(project, path) && path != project {
				found = append(found, around(path, real, project))
			}
		}
		if !named {
			folders, inside = append(folders, real), append(inside, found...)
		}
	}
	return folders, inside
}

// around is the widest folder around path that lies in dir and does not hold the project.
func around(path, dir, project string) string {
	for up := filepath.Dir(path); up != dir && !within(project, up) && up != project; up = filepath.Dir(path) {
		path = up
	}
	return path
}

// within says whether path is in dir.
func within(path, dir string) bool { return strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/") }
