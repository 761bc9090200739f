package gc

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"ralph/internal/db"
	"ralph/internal/git"
	"ralph/internal/seq"
)

// Leftover is a file or a folder that nobody needs any more.
type Leftover struct {
	Path    string
	Bytes   int64
	Touched time.Time // when anything in it was last changed
}

// measure looks at a file, or at a folder with all that is in it. What cannot be read is not
// counted.
func measure(path string) Leftover {
	l := Leftover{Path: path}
	_ = filepath.WalkDir(path, func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // not counted
		}
		info, err := e.Info()
		if err != nil {
			return nil //nolint:nilerr // it is gone meanwhile
		}
		if info.Mode().IsRegular() {
			l.Bytes += info.Size()
		}
		if info.ModTime().After(l.Touched) {
			l.Touched = info.ModTime()
		}
		return nil
	})
	return l
}

func sum(paths []string) (bytes int64) {
	for _, p := range paths {
		bytes += measure(p).Bytes
	}
	return bytes
}

// undisturbed is how long after its last change a temporary file has no writer any more.
const undisturbed = time.Hour

// probe is the prefix of the empty files with which older versions tried whether git can store anything. One that has
// something in it is a person's ref.
const probe = "ralph-"

// Temporaries lists what killed processes left: folders for sandboxes and trials, and files that
// would have been renamed once they were complete.
func (c Collector) Temporaries() []Leftover {
	list := seq.Map(c.Temps, measure)
	p := c.Project
	places := [][2]string{ // a folder, and a prefix of names
		{p.Root, ".ralph-report-"},
		{p.Runs(), ".tmp-"},
		{p.State(), ".tmp-"},
		{filepath.Join(p.State(), "templates"), ".tmp-"},
		{p.State(), "trees-"},
		{p.State(), "repository-"},
		{p.State(), filepath.Base(p.DB()) + db.NewSuffix},
	}
	features, _ := os.ReadDir(p.Features())
	for _, f := range features {
		places = append(places, [2]string{filepath.Join(p.Features(), f.Name()), ".tmp-"})
	}
	for _, dir := range git.Find(p.Root).Folders {
		places = append(places, [2]string{filepath.Join(dir, "refs"), probe}, [2]string{filepath.Join(dir, "objects"), probe})
	}
	for _, place := range places {
		entries, _ := os.ReadDir(place[0])
		for _, e := range entries {
			// Ours end with digits that make them unique; other names are a person's.
			digits, ours := strings.CutPrefix(e.Name(), place[1])
			if !ours || digits == "" || strings.Trim(digits, "0123456789") != "" {
				continue
			}
			l := measure(filepath.Join(place[0], e.Name()))
			if c.Now().Sub(l.Touched) > undisturbed && (place[1] != probe || l.Bytes == 0) {
				list = append(list, l)
			}
		}
	}
	return list
}

// Planning is a planning step that was started and has not ended.
type Planning struct {
	Leftover
	Feature string // empty for tasks of no feature
	Step    string
}

// Planning lists the planning steps that have not ended.
func (c Collector) Planning() []Planning {
	var list []Planning
	names, _ := os.ReadDir(c.Project.Staging())
	for _, n := range names {
		dir := filepath.Join(c.Project.Staging(), n.Name())
		steps, _ := os.ReadDir(dir)
		for _, s := range steps {
			if !s.IsDir() {
				continue // a lock
			}
			feature := n.Name()
			if strings.HasPrefix(feature, ".") { // no feature can be called that
				feature = ""
			}
			list = append(list, Planning{measure(filepath.Join(dir, s.Name())), feature, s.Name()})
		}
	}
	return list
}
