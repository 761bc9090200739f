package git

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"ralph/internal/proc"
)

// ErrWaits says that git did not end: it opens the files in which it looks for rules, whatever they are, and nobody
// writes into a pipe.
var ErrWaits = errors.New("git waits for it without end")

// slow is how long git may take before somebody looks for what it could wait for.
var slow = 5 * time.Second

// watch runs git, and ends it if a file of its working tree keeps it from that.
func watch(cmd *exec.Cmd) error {
	tree := proc.Getenv(cmd.Env, "GIT_WORK_TREE")
	if tree == "" {
		return cmd.Run()
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	ended, found := make(chan struct{}), make(chan error, 1)
	go func() {
		err := waitsFor(tree, ended)
		if err != nil {
			_ = cmd.Cancel() // what has ended is fine, too
		}
		found <- err
	}()
	err := cmd.Wait()
	close(ended)
	if stuck := <-found; err != nil {
		err = cmp.Or(stuck, err)
	}
	return err
}

// waitsFor looks for a file in a working tree that git waits for, until git has ended.
func waitsFor(tree string, ended <-chan struct{}) error {
	for {
		select {
		case <-ended:
			return nil
		case <-time.After(slow):
		}
		err := filepath.WalkDir(tree, func(path string, d fs.DirEntry, _ error) error {
			select {
			case <-ended:
				return fs.SkipAll
			default:
			}
			switch {
			case d == nil:
				return nil
			case d.IsDir() && d.Name() == ".git":
				return fs.SkipDir
			case d.Type()&^fs.ModeSymlink != 0 && !d.IsDir() && slices.Contains([]string{".gitignore", ".gitattributes", ".gitmodules"}, d.Name()):
				return fmt.Errorf("%s is no regular file, and %w: remove it", path, ErrWaits)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
}
