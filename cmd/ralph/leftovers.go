package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"ralph/internal/db"
	"ralph/internal/project"
)

// leftover is something on the disk that nobody needs any more.
type leftover struct {
	path    string
	bytes   int64
	touched time.Time // the last time anything in it was changed
}

// measure looks at a file, or at a folder with all that is in it.
func measure(path string) leftover {
	l := leftover{path: path}
	_ = filepath.WalkDir(path, func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // what cannot be read is not counted
		}
		info, err := e.Info()
		if err != nil {
			return nil //nolint:nilerr // it is gone meanwhile
		}
		if info.Mode().IsRegular() {
			l.bytes += info.Size()
		}
		if info.ModTime().After(l.touched) {
			l.touched = info.ModTime()
		}
		return nil
	})
	return l
}

// undisturbed is after how long a temporary file has no writer any more.
const undisturbed = time.Hour

// temporaries lists what processes have left that were killed: folders for sandboxes
// and trials, and files that were to be renamed when they were whole.
func (a *app) temporaries(p project.Project) []leftover {
	var list []leftover
	for _, dir := range uselessTemps(tempParent(p.Root)) {
		list = append(list, measure(dir))
	}
	halves := [][2]string{ // a folder, and how their names begin
		{p.Root, ".ralph-report-"},
		{filepath.Join(p.State(), "runs"), ".tmp-"},
		{p.State(), "trees-"},
		{p.State(), filepath.Base(p.DB()) + db.NewSuffix},
		{filepath.Join(p.State(), "objects"), "tree-"},
		{filepath.Join(p.State(), "objects", "info"), ".new-"},
	}
	features, _ := os.ReadDir(filepath.Join(p.State(), "features"))
	for _, f := range features {
		halves = append(halves, [2]string{p.Feature(f.Name()), ".tmp-"})
	}
	for _, h := range halves {
		list = append(list, a.abandoned(h[0], h[1])...)
	}
	return list
}

// abandoned lists what has such a name, with the digits that make it unique: what is
// called otherwise is a person's.
func (a *app) abandoned(dir, prefix string) (list []leftover) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		digits, ours := strings.CutPrefix(e.Name(), prefix)
		if !ours || digits == "" || strings.Trim(digits, "0123456789") != "" {
			continue
		}
		if l := measure(filepath.Join(dir, e.Name())); a.now().Sub(l.touched) > undisturbed {
			list = append(list, l)
		}
	}
	return list
}

// staged is a step of planning that was begun and not ended.
type staged struct {
	leftover
	feature string // "" for tasks of none
	step    string
}

func stagedSteps(p project.Project) []staged {
	var list []staged
	names, _ := os.ReadDir(p.Staging())
	for _, n := range names {
		steps, _ := os.ReadDir(filepath.Join(p.Staging(), n.Name()))
		for _, s := range steps {
			if !s.IsDir() {
				continue // a lock
			}
			feature := n.Name()
			if feature == noFeature {
				feature = ""
			}
			list = append(list, staged{measure(filepath.Join(p.Staging(), n.Name(), s.Name())), feature, s.Name()})
		}
	}
	return list
}

func sumBytes(list []leftover) (n int64) {
	for _, l := range list {
		n += l.bytes
	}
	return n
}
