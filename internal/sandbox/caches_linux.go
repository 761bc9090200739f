package sandbox

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"ralph/internal/seq"
)

// keep lays caches under layers that keep what is written in them.
func (ls *layers) keep(caches []string, in Layers) {
	own, others, err := in.take()
	for _, path := range caches {
		if err != nil {
			break
		}
		var l layer
		if l, err = in.over(path, own, others); err == nil {
			ls.add(l, nil)
		}
	}
	if err != nil {
		ls.add(layer{}, fmt.Errorf("layers over caches: %v", err)) //nolint:errorlint // a folder that is missing is no layer that is
	}
}

// take finds the folder of layers that a process is to write, and those of others. An agent and its terminals run at the
// same time, and no two overlays may write one folder: each takes the first that none has.
func (in Layers) take() (own string, others []string, err error) {
	for own == "" {
		entries, err := os.ReadDir(in.Own)
		if err != nil {
			return "", nil, err
		}
		others = nil
		for _, e := range entries {
			if dir := filepath.Join(in.Own, e.Name()); own == "" && locked(dir) {
				own = dir
			} else {
				others = append(others, dir)
			}
		}
		if own == "" {
			if _, err = os.MkdirTemp(in.Own, ""); err != nil {
				return "", nil, err
			}
		}
	}
	return own, others, nil
}

// locked locks a folder for as long as this helper lives, and thus all that it starts, unless another has.
func locked(dir string) bool {
	fd, err := unix.Open(dir, unix.O_DIRECTORY|unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	if unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) != nil {
		unix.Close(fd)
		return false
	}
	return true
}

// over lays a cache below what others wrote, and that below what this process writes. Where there can be no overlay, the process finds the
// cache empty: that only takes time. A file, such as a lock, is replaced by a copy.
func (in Layers) over(path, own string, others []string) (layer, error) {
	info, err := os.Stat(path)
	if err != nil {
		return layer{}, err
	}
	if !info.IsDir() {
		return copyLayer(path, stage, info)
	}
	name := layerOf(path)
	var below []string
	for _, dir := range others {
		below = append(below, filepath.Join(dir, name, "upper"))
	}
	if in.Landed != "" {
		below = append(below, filepath.Join(in.Landed, name))
	}
	base := filepath.Join(own, name)
	if err := os.MkdirAll(filepath.Join(base, "upper"), 0o700); err != nil {
		return layer{}, err
	}
	l, err := overlay(path, base, append(found(below), path))
	if err != nil {
		return detach(filepath.Join(base, "upper"), path, rankOverlay, plain)
	}
	return l, nil
}

// bring shows a folder where processes expect it. Work writes in a folder of its own, as in caches; what is only looked at is thrown away.
func (ls *layers) bring(b Brought, scratch string) {
	if b.Own == "" {
		l, err := cloneLayer(b.From[0], rankOverlay, readOnly)
		l.path = b.Path
		ls.add(l, err)
		return
	}
	var base string
	others, err := filepath.Glob(filepath.Join(b.Own, "*"))
	if b.Kept {
		base, others, err = Layers{Own: b.Own}.take()
	} else if err == nil {
		base, err = os.MkdirTemp(cmp.Or(scratch, stage), "brought")
	}
	var l layer
	if err == nil {
		above := found(seq.Map(others, func(dir string) string { return filepath.Join(dir, "upper") }))
		l, err = overlay(b.Path, base, append(above, b.From...))
	}
	if err != nil {
		err = fmt.Errorf("lay %s over %s: %v", b.Path, strings.Join(b.From, ", "), err) //nolint:errorlint // without it, gates would test something else
	}
	ls.add(l, err)
}

// layerOf names the folder for what is written in a cache.
func layerOf(path string) string {
	sum := sha256.Sum256([]byte(path))
	return hex.EncodeToString(sum[:8])
}
