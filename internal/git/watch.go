package git

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ralph/internal/proc"
)

// ErrWaits says that git did not end: it opens its own files and those in which it looks for rules, whatever they are, and
// nobody writes into a pipe.
var ErrWaits = errors.New("git waits for it without end")

// slow is how long git may take before somebody looks for what it could wait for.
var slow = 5 * time.Second

// watch runs git, and ends it if a file that it opens keeps it from that.
func watch(cmd *exec.Cmd) error {
	own, common := dirs(Top(cmd.Dir))
	if named := proc.Getenv(cmd.Env, "GIT_DIR"); named != "" {
		own, common = gitDirs(named)
	}
	for _, name := range []string{"HEAD", "index"} { // which almost every git opens
		if err := findPipe(filepath.Join(own, name), true, nil); err != nil {
			return err
		}
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	ended, found := make(chan struct{}), make(chan error, 1)
	go func() {
		err := waitsFor(ended, own, common, proc.Getenv(cmd.Env, "GIT_WORK_TREE"))
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

// waitsFor looks for a file that git waits for, until git has ended.
func waitsFor(ended <-chan struct{}, own, common, tree string) error {
	for {
		select {
		case <-ended:
			return nil
		case <-time.After(slow):
		}
		err := findPipe(own, true, ended)
		if err == nil && common != own {
			err = findPipe(common, true, ended)
		}
		if err == nil && tree != "" {
			err = findPipe(tree, false, ended)
		}
		if err != nil {
			return err
		}
	}
}

// findPipe looks for a pipe among all files of a folder, or among those with rules and those of repositories.
func findPipe(dir string, all bool, ended <-chan struct{}) error {
	null, _ := os.Stat(os.DevNull) // which holds nobody up
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, _ error) error {
		select {
		case <-ended:
			return fs.SkipAll
		default:
		}
		if d == nil {
			return nil
		}
		mode, rules := d.Type(), slices.Contains([]string{".gitignore", ".gitattributes", ".gitmodules"}, d.Name())
		gits := all || slices.Contains(strings.Split(filepath.ToSlash(path), "/"), ".git")
		if gits && mode&fs.ModeSymlink != 0 { // which git follows only among its own files
			if info, err := os.Stat(path); err == nil && !os.SameFile(info, null) {
				mode = info.Mode()
			}
		}
		if (rules || gits) && mode&(fs.ModeNamedPipe|fs.ModeDevice) != 0 {
			return fmt.Errorf("%s is not a regular file, and %w: remove it", path, ErrWaits)
		}
		return nil
	})
}
