package git

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Folder is a folder that anybody may have written, with an index of ours. It is brought up to date without
// "git add", which runs git in each repository inside, and so whatever is configured there.
type Folder struct {
	Dir string
	Git Plumbing // on its files and the index
	Max int64    // no larger file is read
}

// Updated is what did not become part of an index.
type Updated struct {
	Gone  []string // files that are not there: nothing is, or a folder, or the way leads through a link
	Large []string // files above Max
	Left  []Left
}

// Left is a file that cannot be taken.
type Left struct{ Path, Why string }

func (l Left) String() string { return l.Path + ": " + l.Why }

// Update makes the index have these files as they are, and not what is gone. Other files that cannot be taken
// stay in it as they were. A name that leads out of the folder is none of its files.
func (f Folder) Update(names []string) (u Updated, err error) {
	names = slices.DeleteFunc(names, outside)
	slices.Sort(names)
	var there []string
	folders := map[string]error{".": nil}
	for _, name := range slices.Compact(names) {
		var info fs.FileInfo
		err := f.folder(folders, path.Dir(name))
		if err == nil {
			info, err = os.Lstat(f.at(name))
		}
		switch {
		case errors.Is(err, fs.ErrPermission): // which git takes for removed
			u.Left = append(u.Left, Left{name, err.Error()})
		case err != nil || !info.Mode().IsRegular() && info.Mode().Type() != fs.ModeSymlink:
			u.Gone = append(u.Gone, name)
		case info.Mode().IsRegular() && info.Size() > f.Max:
			u.Large = append(u.Large, name)
		default:
			there = append(there, name)
		}
	}
	if err = f.Remove(u.Gone); err == nil { // first: a folder may have become a file
		err = f.take(&u, there)
	}
	return u, err
}

// outside says that a name, which may be from anybody's index, leads out of the folder.
func outside(name string) bool { return !filepath.IsLocal(filepath.FromSlash(name)) }

// Remove takes files out of the index.
func (f Folder) Remove(names []string) error {
	if len(names) == 0 {
		return nil
	}
	_, err := f.Git(Lines(names), "update-index", "--force-remove", "-z", "--stdin")
	return err
}

func (f Folder) at(name string) string { return filepath.Join(f.Dir, filepath.FromSlash(name)) }

// folder says why a name is no folder here: it may be beyond a link.
func (f Folder) folder(known map[string]error, name string) error {
	err, looked := known[name]
	if !looked {
		if err = f.folder(known, path.Dir(name)); err == nil {
			var info fs.FileInfo
			if info, err = os.Lstat(f.at(name)); err == nil && !info.IsDir() {
				err = fs.ErrNotExist
			}
		}
		known[name] = err
	}
	return err
}

// take adds files. Git takes none if one cannot be read, which is found by halving.
func (f Folder) take(u *Updated, names []string) error {
	if len(names) == 0 {
		return nil
	}
	_, err := f.Git(Lines(names), "update-index", "--add", "--remove", "--replace", "-z", "--stdin")
	failed := new(CommandError)
	switch {
	case Status(err) <= 0:
		return err
	case errors.As(err, &failed) && strings.Contains(failed.Stderr, "insert into database"):
		said, _, _ := strings.Cut(failed.Stderr, "\n") // where, which the last line does not say
		return errors.New("git cannot store files: " + strings.TrimPrefix(said, "error: "))
	case len(names) == 1:
		u.Left = append(u.Left, Left{names[0], err.Error()})
		return nil
	}
	half := len(names) / 2
	return cmp.Or(f.take(u, names[:half]), f.take(u, names[half:]))
}

// PassedOver lists what git only mentions that it does not take: files with names that it keeps for itself, and
// folders that it cannot read.
func PassedOver(said string) (left []Left) {
	for line := range strings.Lines(said) {
		if name, is := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "Ignoring path "); is {
			left = append(left, Left{name, "git takes no file of such a name"})
		} else if folder, is := strings.CutPrefix(line, "warning: could not open directory '"); is {
			name, why, _ := strings.Cut(strings.TrimSpace(folder), "/': ")
			left = append(left, Left{name, strings.ToLower(why)})
		}
	}
	return left
}

// Within says that a file is one of these, or in one of them.
func Within(name string, list []string) bool {
	return slices.ContainsFunc(list, func(at string) bool { return name == at || strings.HasPrefix(name, at+"/") })
}

// CopyIndex copies an index with its time: git reads a file again if it changed
// in the moment when the index was written, which it knows by this time. Git replaces an
// index and never writes into one, so a second name is as good as a copy, and costs nothing.
func CopyIndex(to, from string) error {
	if os.Link(from, to) == nil {
		return nil
	}
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	data, err := read(from)
	if err != nil {
		return err
	}
	if err := os.WriteFile(to, data, 0o600); err != nil {
		return err
	}
	return os.Chtimes(to, info.ModTime(), info.ModTime())
}
