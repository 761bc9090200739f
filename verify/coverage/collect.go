package coverage

import (
	"errors"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"ralph/internal/bounded"
	"ralph/internal/proc"
)

// Collector has the commands of some gates note which lines of changed files they execute.
type Collector struct {
	dir   string // which these write
	root  string // the project, as they see it
	files []string
	names map[string]string // files by what Go calls them
	read  Read
	pipe  *pipe             // for profiles of Go; nil where it cannot be
	heard map[language]bool // the tools of which told something of this project, be it not of these files
}

// Begin prepares a new folder in temp, which gates may write and see by the same path. They see the project at root.
func Begin(temp, root string, files []string, read Read) (*Collector, error) {
	dir, err := os.MkdirTemp(temp, "coverage-")
	if err != nil {
		return nil, err
	}
	c := &Collector{dir: dir, root: root, files: files, names: goNames(files, read), read: read, heard: map[language]bool{}}
	if len(c.names) > 0 {
		c.pipe, err = openPipe(filepath.Join(dir, "go"), func(name string) bool { return c.names[name] != "" })
		if errors.Is(err, errors.ErrUnsupported) {
			err = nil
		}
	}
	if c.uses(python) && err == nil {
		list := strings.Join(append([]string{root}, c.of(python)...), "\n") + "\n"
		err = errors.Join(
			os.WriteFile(filepath.Join(dir, "files"), []byte(list), 0o600),
			hooks(dir),
		)
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func (c *Collector) of(l language) []string {
	return slices.DeleteFunc(slices.Clone(c.files), func(file string) bool { return languageOf(file) != l || strings.Contains(file, "\n") })
}

func (c *Collector) uses(l language) bool { return len(c.of(l)) > 0 }

// Env is an environment with what the tools need.
func (c *Collector) Env(env []string) []string {
	env = slices.Clone(env)
	set := func(name, sep, value string) { // a later one wins
		if was := proc.Getenv(env, name); was != "" && sep != "" {
			value += sep + was
		}
		env = append(env, name+"="+value)
	}
	if c.pipe != nil {
		// Only the packages that changed are measured: what else was compiled serves on. What comes later in GOFLAGS wins, so these do.
		flags := "'-coverprofile=" + c.pipe.path + "' -coverpkg=" + strings.Join(c.packages(), ",")
		env = append(env, "GOFLAGS="+strings.TrimSpace(proc.Getenv(env, "GOFLAGS")+" "+flags))
	}
	if c.uses(python) {
		set("PYTHONPATH", string(os.PathListSeparator), c.dir)
		set("RALPH_PYTHONUSERBASE", "", proc.Getenv(env, "PYTHONUSERBASE"))
		set("PYTHONUSERBASE", "", filepath.Join(c.dir, userBase))
	}
	if c.uses(javascript) {
		set("NODE_V8_COVERAGE", "", c.dir)
	}
	return env
}

// packages are the import paths of the changed files of Go.
func (c *Collector) packages() (list []string) {
	for name := range c.names {
		list = append(list, path.Dir(name))
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// saidIn reads what processes of gates wrote, one file after the other: together they may be as large as a gate likes. Whatever they put there under such a name, nothing else is read, and nothing is waited for.
func saidIn(dir, prefix string, each func(text []byte)) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), prefix) || strings.HasSuffix(e.Name(), ".part") {
			continue
		}
		f, err := root.OpenFile(e.Name(), os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			continue
		}
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			if text, err := bounded.Read(f, bounded.Data); err == nil {
				each(text)
			}
		}
		f.Close()
	}
	return err
}

// End returns what was executed. Lost names the language of which that is unknown.
func (c *Collector) End() (p Profile, lost string, err error) {
	p = Profile{}
	if c.pipe != nil {
		said, err := c.pipe.end()
		if err != nil {
			return p, "", err
		}
		p.Merge(said.profile(c.names, c.read))
		c.heard[golang] = c.pipe.heard
	}
	if c.uses(python) {
		said, ran, gone, err := pythonSaid(c.dir)
		if err != nil {
			return p, "", err
		}
		c.heard[python] = ran
		if gone {
			lost = "Python: another tool traces lines"
		} else {
			p.Merge(said)
		}
	}
	if c.uses(javascript) {
		said, ran, err := nodeSaid(c.dir, c.root, c.files, c.read)
		if err != nil {
			return p, lost, err
		}
		c.heard[javascript] = ran
		p.Merge(said)
	}
	return p, lost, nil
}

// Close removes all of it.
func (c *Collector) Close() error {
	if c.pipe != nil {
		_, _ = c.pipe.end()
	}
	return os.RemoveAll(c.dir)
}

// goNames are the changed files of Go by their names in a profile.
func goNames(files []string, read Read) map[string]string {
	names := map[string]string{}
	for _, file := range files {
		if languageOf(file) == golang {
			if name := goName(file, read); name != "" {
				names[name] = file
			}
		}
	}
	return names
}
