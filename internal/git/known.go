package git

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// known is what git said of objects that were named by their IDs: it stays true, so that git is asked once.
type known struct {
	mu   sync.Mutex
	said map[string]string
}

const (
	maxKnown = 4096     // entries; then it begins anew
	maxSaid  = 32 << 10 // bytes of one; who says more is asked again
)

func (k *known) get(key string) (said string, is bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	said, is = k.said[key]
	return said, is
}

func (k *known) set(key, said string) {
	if len(said) > maxSaid {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.said == nil || len(k.said) >= maxKnown {
		k.said = map[string]string{}
	}
	k.said[key] = said
}

// Once asks for what depends only on what a key names: on objects by their IDs, never on a ref or a file. An error is not kept, and says
// that it is unknown.
func (r *Repo) Once(key string, ask func() (string, error)) (string, error) {
	if said, is := r.known.get(key); is {
		return said, nil
	}
	said, err := ask()
	if err == nil {
		r.known.set(key, said)
	}
	return said, err
}

// describe finds the tree and the parents of a commit at once, and remembers both. It reads what git has made, too: that is what
// proofs rest on.
func (r *Repo) describe(ctx context.Context, commit string) {
	text := r.commit(commit)
	tree, parents := strings.Join(header(text, "tree"), ""), strings.Join(header(text, "parent"), "\n")
	if text == "" {
		out, err := r.Line(ctx, "rev-parse", commit+"^{tree}", commit+"^@")
		if tree, parents, _ = strings.Cut(out, "\n"); err != nil || !isID(tree) {
			return // the caller asks again, and gets the error
		}
	}
	r.known.set(treeOf(commit), tree)
	r.known.set(parentsOf(commit), parents)
	for parent := range strings.FieldsSeq(parents) {
		r.known.set(below(parent, commit), "")
	}
}

// nameless begins what is known of settings by which git knows no name to commit with.
const nameless = "nameless"

func treeOf(id string) string           { return "tree " + id }
func parentsOf(id string) string        { return "parents " + id }
func below(commit, above string) string { return "below " + commit + " " + above }

// content is the tree of a commit if that is known, and the ID itself otherwise: commits with the same files have the same one.
func (r *Repo) content(id string) string {
	if tree, is := r.known.get(treeOf(id)); is {
		return tree
	}
	return id
}

// settings tells one state of git's configuration from another: by the files that it may be in, those of the system and of the user
// included. It cannot if one of them includes others, as far as it can be read.
func (r *Repo) settings() (stamp string, can bool) {
	env := func(name string) string {
		i := slices.IndexFunc(r.env, func(entry string) bool { return strings.HasPrefix(entry, name+"=") })
		if i < 0 {
			return ""
		}
		return strings.TrimPrefix(r.env[i], name+"=")
	}
	home := env("HOME")
	for _, path := range []string{
		filepath.Join(r.common, "config"), filepath.Join(r.own, "config.worktree"), cmp.Or(env("GIT_CONFIG_SYSTEM"), "/etc/gitconfig"),
		cmp.Or(env("GIT_CONFIG_GLOBAL"), filepath.Join(home, ".gitconfig")), filepath.Join(cmp.Or(env("XDG_CONFIG_HOME"), filepath.Join(home, ".config")), "git", "config"),
	} {
		if real, err := filepath.EvalSymlinks(path); err == nil { // people keep theirs elsewhere
			path = real
		}
		text, err := read(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) && path != os.DevNull || strings.Contains(strings.ToLower(string(text)), "include") {
			return "", false
		}
		stamp += "\x00" + string(text)
	}
	return stamp, home != "" || env("GIT_CONFIG_GLOBAL") != ""
}

// Settings lists what git is configured with, as git does.
func (r *Repo) Settings(ctx context.Context) (string, error) {
	ask := func() (string, error) {
		return r.Git(ctx, Call{Own: r.own}, "config", "--list", "--includes", "--show-scope", "-z")
	}
	stamp, can := r.settings()
	if !can {
		return ask()
	}
	return r.Once("settings"+stamp, ask)
}
