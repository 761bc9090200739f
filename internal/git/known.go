package git

import (
	"context"
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

// describe asks for the tree and the parents of a commit at once, and remembers both. It asks for what git has made, too: that is what
// proofs rest on.
func (r *Repo) describe(ctx context.Context, commit string) {
	out, err := r.Line(ctx, "rev-parse", commit+"^{tree}", commit+"^@")
	tree, parents, _ := strings.Cut(out, "\n")
	if err != nil || !isID(tree) {
		return // the caller asks again, and gets the error
	}
	r.known.set(treeOf(commit), tree)
	r.known.set(parentsOf(commit), parents)
	for parent := range strings.FieldsSeq(parents) {
		r.known.set(below(parent, commit), "")
	}
}

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
