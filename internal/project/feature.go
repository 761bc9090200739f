package project

import (
	"os"
	"path/filepath"
	"strings"
)

// Feature is the folder of a feature's documents. Case makes no difference in the name of a feature, and git or a person may have given
// its folder another one than the database has: it is the folder that is there. Of two, it is the one with documents, or with that name.
func (p Project) Feature(name string) string {
	own := filepath.Join(p.Features(), name)
	var folders []string
	entries, _ := os.ReadDir(p.Features()) // none is none
	for _, e := range entries {
		same := len(e.Name()) == len(name) && strings.EqualFold(e.Name(), name) // some letters beyond ASCII fold to one of it
		switch {
		case !same || !e.IsDir() && e.Type()&os.ModeSymlink == 0:
		case e.Name() == name:
			folders = append([]string{own}, folders...)
		default:
			folders = append(folders, filepath.Join(p.Features(), e.Name()))
		}
	}
	switch len(folders) {
	case 0:
		return own
	case 1:
		return folders[0]
	}
	for _, folder := range folders {
		if Documents(folder) > 0 {
			return folder
		}
	}
	return folders[0]
}

// Documents counts the documents that the folder of a feature holds.
func Documents(folder string) (n int) {
	for _, name := range []string{"spec.md", "plan.md", "tasks.jsonl"} {
		if info, err := os.Lstat(filepath.Join(folder, name)); err == nil && info.Mode().IsRegular() {
			n++
		}
	}
	return n
}
