package sandbox

import (
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// cloneCovered copies what is to be seen of the folder that the project covers: all of it where View is, and Ours in its own place,
// under what the project itself has there.
func (o order) cloneCovered(ls *layers) {
	if o.Place.Seen == "" {
		return
	}
	view, err := cloneLayer(o.Place.Seen, rankRead, readOnly)
	view.path = o.Place.View
	ls.add(view, err)
	if o.Ours == "" {
		return
	}
	ls.add(cloneLayer(o.Ours, rankRead, readOnly))
	own := o.Place.Outside(o.Ours)
	entries, _ := os.ReadDir(own) // without it there are none
	for _, e := range entries {
		ls.add(cloneLayer(filepath.Join(own, e.Name()), rankRead, readOnly))
	}
}

// placed moves the layers of the project to where it is seen, and those that hide something there to where that is seen now.
func (o order) placed(list []layer) (out []layer) {
	for _, l := range list {
		covered := l.path == o.Place.Seen // as it is in a temporary folder, maybe
		if l.rank == rankHide {
			l.path = o.Place.Behind(l.path)
		}
		if l.path = o.Place.Inside(l.path); !covered && o.hasPoint(l) {
			out = append(out, l)
		} else {
			unix.Close(l.fd)
		}
	}
	return out
}

// hasPoint reports whether a layer can be attached and leaves no trace in the project: nothing new can be made in Ours, and git
// takes a new file for work.
func (o order) hasPoint(l layer) bool {
	if o.Ours != "" && within(l.path, o.Ours) {
		name, _, _ := strings.Cut(l.path[len(o.Ours)+1:], "/")
		return kind(filepath.Join(o.Ours, name)) == kind(filepath.Join(o.Place.Outside(o.Ours), name))
	}
	return l.dir || !o.Place.Covers(l.path) || exists(o.Place.Outside(l.path))
}

// kind is what is at a path; a link is one.
func kind(path string) os.FileMode {
	info, err := os.Lstat(path)
	if err != nil {
		return os.ModeIrregular
	}
	return info.Mode().Type()
}
