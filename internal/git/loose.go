package git

import (
	"bytes"
	"compress/zlib"
	"context"
	"crypto/sha1" //nolint:gosec // git's IDs are
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"ralph/internal/lazyregexp"
)

// maxCommit is how large the text of a commit may be that is read without git.
const maxCommit = 1 << 20

// commit is the text of a commit that has a file of its own, as new ones have, "" if it is to be asked for: if it is elsewhere, is
// something else, or if git would say something else of it, because it is replaced or the end of what was fetched.
func (r *Repo) commit(id string) string {
	if !isID(id) {
		return ""
	}
	if instead, err := r.refFiles([]string{"refs/replace"}); err != nil || len(instead) > 0 {
		return ""
	}
	if exists(filepath.Join(r.common, "shallow")) || exists(filepath.Join(r.common, "info", "grafts")) {
		return ""
	}
	for _, dir := range r.Objects() {
		if text := loose(filepath.Join(dir, id[:2], id[2:]), id); text != nil {
			kind, size, _ := strings.Cut(string(text[:max(bytes.IndexByte(text, 0), 0)]), " ")
			if text = text[len(kind)+len(size)+2:]; kind == "commit" && size == fmt.Sprint(len(text)) {
				return string(text)
			}
		}
	}
	return ""
}

// loose reads the file of an object. It is nil unless the ID is that of what is in it.
func loose(path, id string) []byte {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	z, err := zlib.NewReader(f)
	if err != nil {
		return nil
	}
	text, err := io.ReadAll(io.LimitReader(z, maxCommit))
	var is []byte
	if len(id) == 2*sha1.Size {
		sum := sha1.Sum(text) //nolint:gosec // as git does
		is = sum[:]
	} else {
		sum := sha256.Sum256(text)
		is = sum[:]
	}
	if err != nil || hex.EncodeToString(is) != id || !bytes.Contains(text, []byte{0}) {
		return nil
	}
	return text
}

// header is what a commit says under some keys, in order.
func header(text, key string) (values []string) {
	head, _, _ := strings.Cut(text, "\n\n")
	for line := range strings.SplitSeq(head, "\n") {
		if value, is := strings.CutPrefix(line, key+" "); is {
			values = append(values, value)
		}
	}
	return values
}

// Author is who made a commit, as the environment of git has it.
func (r *Repo) Author(ctx context.Context, commit string) ([]string, error) {
	text := r.commit(commit)
	author := strings.Join(header(text, "author"), "\n")
	name, rest, named := strings.Cut(author, " <")
	mail, date, whole := strings.Cut(rest, "> ")
	if plain := utf8.ValidString(author) && !strings.ContainsAny(author, "\n") && len(header(text, "encoding")) == 0; named && whole && plain {
		return []string{"GIT_AUTHOR_NAME=" + name, "GIT_AUTHOR_EMAIL=" + mail, "GIT_AUTHOR_DATE=" + date}, nil
	}
	out, err := r.Line(ctx, "show", "-s", "--no-show-signature", "--encoding=UTF-8", "--date=raw", "--format=GIT_AUTHOR_NAME=%an%nGIT_AUTHOR_EMAIL=%ae%nGIT_AUTHOR_DATE=%ad", commit)
	return strings.Split(out, "\n"), err
}

// Trailer is the value of a trailer of a commit, "" without one.
func (r *Repo) Trailer(ctx context.Context, commit, key string) (string, error) {
	if value, read := trailer(r.commit(commit), key); read {
		return value, nil
	}
	return r.Line(ctx, "show", "-s", "--no-show-signature", "--format=%(trailers:key="+key+",valueonly,separator=%x20)", commit)
}

// ends is a last paragraph of nothing but trailers of one line each.
var ends = lazyregexp.New(`^([A-Za-z0-9-]+: .*(\n|$))+$`)

// trailer reads a trailer in the text of a commit. It cannot if git could mean something else by it: of another encoding, below a line
// of dashes, in several lines, or beside lines that are no trailers.
func trailer(text, key string) (value string, read bool) {
	_, message, _ := strings.Cut(text, "\n\n")
	if text == "" || !strings.Contains(strings.ToLower(message), strings.ToLower(key)) {
		return "", text != ""
	}
	message = strings.TrimRight(message, "\n")
	at := strings.LastIndex(message, "\n\n")
	if at < 0 || len(header(text, "encoding")) > 0 || !utf8.ValidString(message) || strings.Contains(message, "\n---") || !ends.Get().MatchString(message[at+2:]) {
		return "", false
	}
	var values []string
	for line := range strings.SplitSeq(message[at+2:], "\n") {
		if name, value, _ := strings.Cut(line, ": "); strings.EqualFold(name, key) {
			values = append(values, strings.TrimSpace(value))
		}
	}
	return strings.Join(values, " "), true
}

// Only reads the commit on top of another, if it is one that is read without git: whose it is, and the value of a trailer.
func (r *Repo) Only(onto, commit, key string) (author, value string, is bool) {
	text := r.commit(commit)
	value, read := trailer(text, key)
	author, _, named := strings.Cut(strings.Join(header(text, "author"), "\n"), " <")
	plain := utf8.ValidString(author) && !strings.Contains(author, "\n") && len(header(text, "encoding")) == 0
	return author, value, read && named && plain && strings.Join(header(text, "parent"), " ") == onto
}
