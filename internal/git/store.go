package git

import (
	"cmp"
	"context"
	"crypto/sha1" //nolint:gosec // git's IDs are
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/adler32"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"ralph/internal/lazyregexp"
)

// A commit and a ref are a file of a few lines each, and starting git costs more than all else about them. They are written here where
// nothing but that is to be done, and by git otherwise: it checks names, keeps logs, and knows other kinds of repositories.

// plainly reports whether commits and refs are files like those of git without any setting: nothing says who may read them, in which
// encoding they are, when they are on the disk, or that each change of a ref is logged.
func (r *Repo) plainly(ctx context.Context) bool {
	if exists(filepath.Join(r.common, "reftable")) {
		return false
	}
	settings, err := r.Settings(ctx)
	settings = strings.ToLower(settings)
	return err == nil && !slices.ContainsFunc([]string{"core.fsync", "i18n.commitencoding", "core.sharedrepository", "core.logallrefupdates\nalways", "extensions.refstorage"},
		func(name string) bool { return strings.Contains(settings, name) })
}

// ident is somebody as a commit names him, without the time.
var ident = lazyregexp.New(`^[^<>\x00\n]* <[^<>\x00\n]*>$`)

// stamped is a time as a commit has it.
var stamped = lazyregexp.New(`^[0-9]+ [+-][0-9]{4}$`)

// signs is who makes commits, as git says that by the variable of this name. It is asked again when its settings are others.
func (r *Repo) signs(ctx context.Context, name, settings string) string {
	if _, nameless := r.known.get(nameless + settings); nameless {
		return "ralph <ralph@localhost>"
	}
	said, err := r.Once(name+settings, func() (string, error) { return r.Line(ctx, "var", name) })
	at := strings.LastIndex(said, "> ")
	if err != nil || at < 0 {
		return ""
	}
	return said[:at+1]
}

// writeCommit stores a commit as git would, or returns "" if git has to be asked: if it could say that a tree or a parent is missing, that a
// text cannot be in a commit, or if a variable sets when commits are made.
func (r *Repo) writeCommit(ctx context.Context, tree, message, parents string, author []string) string {
	settings, can := r.settings()
	dated := func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return name == "GIT_AUTHOR_DATE" || name == "GIT_COMMITTER_DATE"
	}
	if !can || !utf8.ValidString(message) || strings.Contains(message, "\x00") || slices.ContainsFunc(r.env, dated) || !r.has(tree) || !r.plainly(ctx) {
		return ""
	}
	clock := time.Now() //nolint:forbidigo // a commit has the time of the machine, as git gives it
	now := fmt.Sprint(clock.Unix(), clock.Format(" -0700"))
	set := map[string]string{}
	for _, entry := range author {
		name, value, _ := strings.Cut(entry, "=")
		set[name] = value
	}
	by, made := r.signs(ctx, "GIT_AUTHOR_IDENT", settings), r.signs(ctx, "GIT_COMMITTER_IDENT", settings)
	if name, named := set["GIT_AUTHOR_NAME"]; named {
		by = name + " <" + set["GIT_AUTHOR_EMAIL"] + ">"
	}
	at := cmp.Or(set["GIT_AUTHOR_DATE"], now)
	for name := range set {
		if !slices.Contains([]string{"GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_AUTHOR_DATE"}, name) {
			return ""
		}
	}
	if !ident.Get().MatchString(by) || !ident.Get().MatchString(made) || !stamped.Get().MatchString(at) {
		return ""
	}
	var text strings.Builder
	text.WriteString("tree " + tree + "\n")
	for parent := range strings.FieldsSeq(parents) {
		if line := "parent " + parent + "\n"; r.commit(parent) == "" || strings.Contains(text.String(), line) {
			return ""
		}
		text.WriteString("parent " + parent + "\n")
	}
	text.WriteString("author " + by + " " + at + "\ncommitter " + made + " " + now + "\n\n" + message)
	id, err := r.store(fmt.Sprintf("commit %d\x00%s", text.Len(), text.String()), len(tree))
	if err != nil {
		return ""
	}
	return id
}

// has reports whether an object has a file of its own.
func (r *Repo) has(id string) bool {
	return isID(id) && slices.ContainsFunc(r.Objects(), func(dir string) bool { return exists(filepath.Join(dir, id[:2], id[2:])) })
}

// store gives an object a file, whose ID has so many characters.
func (r *Repo) store(object string, length int) (id string, err error) {
	switch length {
	case 2 * sha1.Size:
		sum := sha1.Sum([]byte(object)) //nolint:gosec // as git does
		id = hex.EncodeToString(sum[:])
	case 2 * sha256.Size:
		sum := sha256.Sum256([]byte(object))
		id = hex.EncodeToString(sum[:])
	default:
		return "", fmt.Errorf("an ID of %d characters", length)
	}
	at := filepath.Join(r.Objects()[0], id[:2], id[2:])
	if exists(at) {
		return id, os.Chtimes(at, time.Time{}, time.Now()) //nolint:forbidigo // git gc compares it with the time of the machine, and takes it for a new one
	}
	if err = os.Mkdir(filepath.Dir(at), 0o777); err != nil && !errors.Is(err, fs.ErrExist) { // less what the user's mask takes, as git does
		return "", err
	}
	f, err := os.CreateTemp(filepath.Dir(at), "tmp_obj_") // git gc removes what a killed process left under such a name
	if err != nil {
		return "", err
	}
	_, err = f.Write(deflated([]byte(object)))
	if err = errors.Join(err, f.Close(), os.Chmod(f.Name(), 0o444)); err == nil {
		err = os.Rename(f.Name(), at)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return id, err
}

// deflated has what zlib would make of data if it saved no space. A few lines take a block of the disk anyway, and a compressor a
// megabyte of memory.
func deflated(data []byte) []byte {
	out := []byte{0x78, 0x01}
	for rest, last := data, byte(0); last == 0; {
		n := min(len(rest), math.MaxUint16)
		if n == len(rest) {
			last = 1
		}
		out = append(binary.LittleEndian.AppendUint16(binary.LittleEndian.AppendUint16(append(out, last), uint16(n)), ^uint16(n)), rest[:n]...)
		rest = rest[n:]
	}
	return binary.BigEndian.AppendUint32(out, adler32.Checksum(data))
}

// SetRef sets a ref to a commit, whatever it was before, if that is no more than writing a file, and reports whether it did.
func (r *Repo) SetRef(ctx context.Context, name, commit string) (done bool) {
	at := filepath.Join(r.common, filepath.FromSlash(name))
	if !strings.HasPrefix(name, "refs/") || path.Clean(name) != name || r.commit(commit) == "" || isDir(at) || !r.plainly(ctx) {
		return false
	}
	if err := os.MkdirAll(filepath.Dir(at), 0o777); err != nil {
		return false
	}
	f, err := os.OpenFile(at+".lock", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666) // as git locks a ref
	if err != nil {
		return false
	}
	_, err = f.WriteString(commit + "\n")
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), at)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err == nil
}
