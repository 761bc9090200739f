package slot

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"ralph/internal/copyfile"
	"ralph/internal/filelock"
	"ralph/internal/git"
	"ralph/internal/human"
)

// Snapshots of the project's ignored folders are beside slots, each in a folder that is named after what it holds and is only ever
// whole. A slot or room that uses one has a folder of the same name for what is written over it: as long as that is there, the
// snapshot stays.

// Brought is an ignored folder of the project that a slot has.
type Brought struct {
	Name string // from the top of the repository
	ID   string // of the snapshot
	Laid bool   // it is the folder's place only: programs find the snapshot under a layer
	Live bool   // without a snapshot: programs find the project's own folder, to read
}

// about is what a snapshot holds beside its files.
type about struct {
	Name   string
	Dotenv []string // files with variables in it
	Lacks  string   // why slots do without it, and without a copy
	Large  bool     // nor is there one of a folder with more than maxSnapshot
}

const (
	// maxSnapshot is how much is copied. Larger folders hold data rather than dependencies.
	maxSnapshot = 4 << 30
	// maxLooked is how many names in a folder are looked at to see whether it has changed, those on top first: what installs something
	// changes a folder or a file of its own there.
	maxLooked = 1000
	// maxCopies is how often a folder is copied that changes meanwhile.
	maxCopies = 3
)

var errVanished = errors.New("the folder is not there any more")

func (p *Pool) snapshots() string { return filepath.Join(p.home, ".brought") }

func (p *Pool) lockFile() string { return filepath.Join(p.snapshots(), "lock") }

// tree is where the files of a snapshot are.
func (p *Pool) tree(id string) string { return filepath.Join(p.snapshots(), id, "tree") }

// bring finds or makes snapshots of folders for the slot, which keeps them. What is left out is reported.
func (s *Slot) bring(ctx context.Context, folders []string) (list []Brought, err error) {
	p := s.p
	if _, err := os.Lstat(p.snapshots()); err != nil && len(folders) == 0 {
		return nil, nil
	}
	lock, err := p.lock(ctx)
	if err != nil {
		return nil, err
	}
	var old []string // what was moved away
	defer func() {
		_ = filelock.Close(lock)
		for _, dir := range old {
			_ = removeAll(dir) // else Sweep does it
		}
	}()
	current := map[string]bool{}
	for _, name := range folders {
		id, at, err := p.snapshot(ctx, name)
		switch {
		case errors.Is(err, errVanished): // it is being installed anew
			id, at = p.last(name)
		case errors.Is(err, fs.ErrPermission):
			at = about{Name: name, Lacks: err.Error()}
		case err != nil:
			return nil, fmt.Errorf("copy %s: %w", name, err)
		}
		if current[id] = true; at.Lacks != "" {
			if err := s.leaveOut(ctx, at); err != nil {
				return nil, err
			}
		} else if id != "" {
			b := Brought{Name: name, ID: id, Laid: p.layered(), Live: at.Large}
			p.learn(ctx, p.from(b), at.Dotenv)
			list = append(list, b)
		}
	}
	for _, b := range list {
		err = errors.Join(err, os.MkdirAll(filepath.Join(s.over(), b.ID), 0o700))
	}
	stays := func(id string) bool { return current[id] }
	for _, dir := range []string{s.over(), s.underGates()} {
		moved, merr := p.moveOthers(dir, stays)
		old, err = append(old, moved...), errors.Join(err, merr)
	}
	moved, merr := p.unused(stays)
	old = append(old, moved...)
	return list, errors.Join(err, merr)
}

// from is where the files of a folder are.
func (p *Pool) from(b Brought) string {
	if b.Live {
		return filepath.Join(p.o.Repo.Dir(), filepath.FromSlash(b.Name))
	}
	return p.tree(b.ID)
}

// learn passes on the text of each file with variables in a folder.
func (p *Pool) learn(ctx context.Context, folder string, dotenv []string) {
	for _, rel := range dotenv {
		if text, err := copyfile.Read(filepath.Join(folder, rel), maxDotenv); err == nil && p.o.Dotenv != nil {
			p.o.Dotenv(ctx, string(text))
		}
	}
}

// lock keeps runs from making and removing snapshots at the same time.
func (p *Pool) lock(ctx context.Context) (*os.File, error) {
	if err := os.MkdirAll(p.snapshots(), 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(p.lockFile(), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	locked := make(chan error, 1)
	go func() { locked <- filelock.Take(f) }()
	select {
	case err = <-locked:
		return f, err
	case <-ctx.Done():
		go func() { <-locked; _ = filelock.Close(f) }()
		return nil, context.Cause(ctx)
	}
}

// unused moves snapshots away that no slot uses, and what a dead ralph was making. Whoever calls it has the lock.
func (p *Pool) unused(stays func(id string) bool) (moved []string, err error) {
	return p.moveOthers(p.snapshots(), func(id string) bool {
		inSlots, _ := filepath.Glob(filepath.Join(p.home, ".written-*", "*", id)) // the patterns are good
		inRooms, _ := filepath.Glob(filepath.Join(p.home, "rooms", ".written-*", "*", id))
		return stays(id) || len(inSlots)+len(inRooms) > 0
	})
}

// moveOthers moves the folders in a folder away that do not stay.
func (p *Pool) moveOthers(dir string, stays func(name string) bool) (moved []string, err error) {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if !e.IsDir() || stays(e.Name()) {
			continue
		}
		hole, merr := p.moveAway(filepath.Join(dir, e.Name()))
		moved, err = append(moved, hole), errors.Join(err, merr)
	}
	return moved, gone(err)
}

// snapshot finds or makes the snapshot of a folder as it is now.
func (p *Pool) snapshot(ctx context.Context, name string) (id string, at about, err error) {
	from := filepath.Join(p.o.Repo.Dir(), filepath.FromSlash(name))
	for try := 1; ; try++ {
		if id, err = p.identify(name, from); err != nil {
			return "", about{}, err
		}
		if at, err = p.about(id); err == nil {
			return id, at, nil
		}
		temp, err := os.MkdirTemp(p.snapshots(), ".new-")
		if err != nil {
			return "", about{}, err
		}
		if at, err = p.fill(ctx, temp, name, from); err != nil {
			return "", about{}, errors.Join(err, removeAll(temp))
		}
		if now, err := p.identify(name, from); try < maxCopies && (err != nil || now != id) {
			if err := removeAll(temp); err != nil {
				return "", about{}, err
			}
			continue
		}
		return id, at, os.Rename(temp, filepath.Join(p.snapshots(), id))
	}
}

func (p *Pool) about(id string) (at about, err error) {
	data, err := os.ReadFile(filepath.Join(p.snapshots(), id, "about.json"))
	if err == nil {
		err = json.Unmarshal(data, &at)
	}
	return at, err
}

// last is the newest snapshot of a folder, "" if there is none.
func (p *Pool) last(name string) (id string, at about) {
	var made time.Time
	entries, _ := os.ReadDir(p.snapshots()) // without it there are none
	for _, e := range entries {
		has, err := p.about(e.Name())
		if info, ierr := e.Info(); err == nil && ierr == nil && has.Name == name && info.ModTime().After(made) {
			id, at, made = e.Name(), has, info.ModTime()
		}
	}
	return id, at
}

// leaveOut refuses a folder that a person has named, and says of any other that slots do not have it.
func (s *Slot) leaveOut(ctx context.Context, at about) error {
	named := !s.p.o.Assumed
	if !named {
		included, err := s.p.list(ctx, nil)
		if err != nil {
			return err
		}
		named = slices.Contains(included, at.Name+"/")
	}
	switch {
	case named && !at.Large:
		return &SetupError{fmt.Errorf("%s: leave it out of [parallel] copy and %s, and make it in each slot with [parallel] setup", at.Lacks, includeFile)}
	case s.p.left != nil && (at.Large || s.p.o.Setup == nil): // setup makes what cannot be copied
		s.p.left(fmt.Sprintf("slots do not have %s: %s; if gates need it, make it in each slot with [parallel] setup", at.Name, at.Lacks))
	}
	return nil
}

// fill makes a snapshot in a folder.
func (p *Pool) fill(ctx context.Context, temp, name, from string) (at about, err error) {
	at = about{Name: name}
	var size int64
	err = filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if info, ierr := d.Info(); err == nil && ierr == nil && info.Mode().IsRegular() {
			size += info.Size()
			if rel, rerr := filepath.Rel(from, path); rerr == nil && isDotenv(d.Name()) {
				at.Dotenv = append(at.Dotenv, rel)
			}
		}
		return errors.Join(ctx.Err(), gone(err))
	})
	if at.Large = size > maxSnapshot; at.Large && !p.layered() {
		at.Lacks = "it has more than " + human.Bytes(maxSnapshot)
	} else if err == nil {
		at.Lacks, err = p.bound(name)
	}
	if err == nil && at.Lacks == "" && !at.Large {
		if p.setting != nil {
			p.setting("a copy of " + name)
		}
		var root *os.Root
		if root, err = os.OpenRoot(temp); err == nil {
			err = errors.Join(copyTree(ctx, root, "tree", from), root.Close())
		}
	}
	if err != nil {
		return at, err
	}
	data, err := json.Marshal(at)
	if err == nil {
		err = os.WriteFile(filepath.Join(temp, "about.json"), data, 0o600)
	}
	return at, err
}

// copyTree copies a folder.
func copyTree(ctx context.Context, root *os.Root, to, from string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		rel, rerr := filepath.Rel(from, path)
		switch {
		case err != nil || rerr != nil || ctx.Err() != nil:
			return errors.Join(gone(err), rerr, context.Cause(ctx))
		case d.IsDir():
			return root.MkdirAll(filepath.Join(to, rel), 0o700)
		}
		return gone(copyfile.Into(root, filepath.Join(to, rel), path))
	})
}

// gone is an error unless that says that a file is not there any more.
func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// identify names the snapshot of a folder as it is now, by what is on top in it and by the lock files in the folders above:
// every installer changes something there, and looking at all files for each task would cost more than its tests.
func (p *Pool) identify(name, from string) (string, error) {
	sum := sha256.New()
	fmt.Fprintf(sum, "2 %q %q %v\n", name, p.sees().Seen, p.layered()) // which decide what may be brought
	info, err := os.Lstat(from)
	if errors.Is(err, fs.ErrNotExist) {
		return "", errVanished
	} else if err != nil {
		return "", err
	}
	look(sum, "", info)
	looked := 0
	for queue := []string{""}; len(queue) > 0 && looked < maxLooked; queue = queue[1:] {
		entries, err := os.ReadDir(filepath.Join(from, queue[0]))
		if gone(err) != nil {
			return "", err
		}
		for _, e := range entries {
			if info, err := e.Info(); err == nil {
				look(sum, filepath.Join(queue[0], e.Name()), info)
			}
			if e.IsDir() {
				queue = append(queue, filepath.Join(queue[0], e.Name()))
			}
		}
		looked += len(entries)
	}
	for dir := path.Dir(name); ; dir = path.Dir(dir) {
		entries, err := os.ReadDir(filepath.Join(p.o.Repo.Dir(), dir))
		if gone(err) != nil {
			return "", err
		}
		for _, e := range entries {
			if info, err := e.Info(); err == nil && isLock(e.Name()) {
				look(sum, path.Join(dir, e.Name()), info)
			}
		}
		if dir == "." {
			return hex.EncodeToString(sum.Sum(nil)[:12]), nil
		}
	}
}

func look(sum hash.Hash, name string, info fs.FileInfo) {
	fmt.Fprintf(sum, "%q %v %d %d\n", name, info.Mode(), info.Size(), info.ModTime().UnixNano())
}

// Depends reports whether the slot has dependencies of the project that no Setup brings up to date.
func (s *Slot) Depends() bool { return s.p.o.Setup == nil && len(s.made.Brought) > 0 }

// Locks lists those of some files, from the top of the repository, that say what is to be in a folder that the slot has of the project.
func (s *Slot) Locks(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		in := path.Dir(name)
		return !isLock(path.Base(name)) || !slices.ContainsFunc(s.made.Brought, func(b Brought) bool { return in == "." || git.Within(b.Name, []string{in}) })
	})
}

// isLock reports whether a file of this name says which dependencies are to be installed.
func isLock(name string) bool {
	named := func(pattern string) bool { is, _ := path.Match(pattern, name); return is }
	return slices.ContainsFunc([]string{"*.lock", "*.lockb", "*-lock.*", "npm-shrinkwrap.json", "requirements*.txt"}, named)
}

// over is where what is written over snapshots is: by agents in a slot, by gates in a room.
func (s *Slot) over() string { return filepath.Join(s.written(), "brought") }

// underGates is where a room has what Setup wrote over snapshots: it stays when what gates wrote goes.
func (s *Slot) underGates() string { return filepath.Join(s.written(), "setup") }

// Laid is a folder of the slot that programs are to find with what is in others, the first on top, and to write in Own; without
// Own, they only read it.
type Laid struct {
	Path string
	From []string
	Own  string
}

// Laid lists the folders for which the slot has a place only, as they are for Setup or for other programs.
func (s *Slot) Laid(setup bool) (list []Laid) {
	if s.made.Commit == "" {
		_ = s.load() // without it there are none
	}
	for _, b := range s.made.Brought {
		if !b.Laid {
			continue
		}
		l := Laid{Path: filepath.Join(s.Top(), filepath.FromSlash(b.Name)), From: []string{s.p.from(b)}, Own: filepath.Join(s.over(), b.ID)}
		if b.Live {
			l.Own = ""
		} else if under := filepath.Join(s.underGates(), b.ID); setup && s.p.judges {
			l.Own = under
		} else if wrote, _ := filepath.Glob(filepath.Join(under, "*", "upper")); len(wrote) > 0 {
			l.From = append(wrote, l.From...)
		}
		list = append(list, l)
	}
	return list
}
