package git

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Ref is a name and the ID that it stands for.
type Ref struct{ Name, ID string }

// Refs lists the refs below some names such as refs/heads. Most repositories keep them in files, and reading these costs less than starting
// git, which is asked about all others.
func (r *Repo) Refs(ctx context.Context, below ...string) ([]Ref, error) {
	if list, err := r.refFiles(below); err == nil {
		return list, nil
	}
	out, err := r.Git(ctx, Call{}, append([]string{"for-each-ref", "--format=%(objectname) %(refname)"}, below...)...)
	var list []Ref
	for line := range strings.Lines(out) {
		id, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		list = append(list, Ref{name, id})
	}
	return list, err
}

var errNoFiles = errors.New("the refs are not in files, or only git understands them")

// refFiles reads refs. Those with a file of their own come first: git writes the packed ones before it removes such files.
func (r *Repo) refFiles(below []string) ([]Ref, error) {
	if exists(filepath.Join(r.common, "reftable")) {
		return nil, errNoFiles
	}
	at := map[string]string{}
	for _, name := range below {
		if err := r.looseRefs(at, path.Clean(name)); err != nil {
			return nil, err
		}
	}
	packed, err := r.packedRefs()
	if err != nil {
		return nil, err
	}
	for name, id := range at {
		if to, is := strings.CutPrefix(id, "ref: "); is { // the default branch of a remote
			if at[name] = cmp.Or(at[to], packed[to]); !isID(at[name]) {
				return nil, errNoFiles
			}
		}
	}
	for name, id := range packed {
		if _, is := at[name]; !is && slices.ContainsFunc(below, func(folder string) bool { return strings.HasPrefix(name, path.Clean(folder)+"/") }) {
			at[name] = id
		}
	}
	var list []Ref
	for name, id := range at {
		list = append(list, Ref{name, id})
	}
	slices.SortFunc(list, func(a, b Ref) int { return cmp.Compare(a.Name, b.Name) })
	return list, nil
}

// looseRefs adds the refs below a name that have files of their own.
func (r *Repo) looseRefs(at map[string]string, below string) error {
	return filepath.WalkDir(filepath.Join(r.common, filepath.FromSlash(below)), func(file string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil || d.IsDir() || strings.HasSuffix(file, ".lock"):
			return err
		}
		text, err := read(file)
		if errors.Is(err, fs.ErrNotExist) { // it was deleted or packed meanwhile
			return nil
		}
		name, rerr := filepath.Rel(r.common, file)
		id := strings.TrimSpace(string(text))
		if err != nil || rerr != nil || !isID(id) && !strings.HasPrefix(id, "ref: refs/") {
			return errNoFiles
		}
		at[filepath.ToSlash(name)] = id
		return nil
	})
}

// packedRefs are the refs that share a file.
func (r *Repo) packedRefs() (map[string]string, error) {
	text, err := read(filepath.Join(r.common, "packed-refs"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	packed := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if id, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " "); isID(id) {
			packed[name] = id
		} else if !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "^") {
			return nil, errNoFiles
		}
	}
	return packed, nil
}

// Resolve finds the commits that refs stand for, "" for those that do not exist or stand for something else.
func (r *Repo) Resolve(ctx context.Context, names ...string) ([]string, error) {
	if list, is := r.resolveFiles(names); is {
		return list, nil
	}
	out, err := r.Git(ctx, Call{In: strings.NewReader(strings.Join(names, "\n") + "\n")}, "cat-file", "--batch-check=%(objectname) %(objecttype)")
	list, lines := make([]string, len(names)), strings.Split(out, "\n")
	for i := range min(len(names), len(lines)) {
		if id, kind, _ := strings.Cut(lines[i], " "); kind == "commit" {
			list[i] = id
		}
	}
	return list, err
}

func (r *Repo) resolveFiles(names []string) (list []string, is bool) {
	if exists(filepath.Join(r.common, "reftable")) {
		return nil, false
	}
	for _, name := range names {
		file := filepath.Join(r.common, filepath.FromSlash(name))
		text, err := read(file)
		id := strings.TrimSpace(string(text))
		if missing := errors.Is(err, fs.ErrNotExist); missing || isDir(file) {
			var packed map[string]string
			packed, err = r.packedRefs()
			if id = packed[name]; id == "" && err == nil && strings.HasPrefix(name, "refs/") {
				list = append(list, "")
				continue
			}
		}
		if err != nil || !strings.HasPrefix(name, "refs/") || r.commit(id) == "" {
			return nil, false
		}
		list = append(list, id)
	}
	return list, true
}
