package coverage

import (
	_ "embed"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"ralph/verify/suite"
)

// hook is imported by every Python that finds it.
//
//go:embed python/sitecustomize.py
var hook []byte

// userHook is imported by a Python that does not find it, because the gate sets PYTHONPATH.
//
//go:embed python/usercustomize.py
var userHook []byte

// latestPython is the newest 3.x whose folder of the user's packages has the hook: which one a gate starts is not known before.
const latestPython = 25

// hooks writes what processes of Python import from a folder.
func hooks(dir string) error {
	err := os.WriteFile(filepath.Join(dir, "sitecustomize.py"), hook, 0o600)
	for minor := 6; minor <= latestPython; minor++ {
		site := filepath.Join(dir, userBase, "lib", "python3."+strconv.Itoa(minor), "site-packages")
		err = errors.Join(err, os.MkdirAll(site, 0o700), os.WriteFile(filepath.Join(site, "usercustomize.py"), userHook, 0o600))
	}
	return err
}

const userBase = "user"

// pythonSaid are the lines of changed files as processes of Python wrote them. Ran is true if one ran files of the project. Lost is
// true if another tool traced lines in the place of ours: then it is unknown which were executed.
func pythonSaid(dir string) (p Profile, ran, lost bool, err error) {
	p = Profile{}
	missing, tested := Profile{}, false
	err = saidIn(dir, "python-", func(text []byte) {
		ran = true
		for line := range strings.Lines(string(text)) {
			fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
			switch {
			case fields[0] == "lost":
				lost = true
			case fields[0] == "ran" && len(fields) == 2:
				tested = tested || suite.IsTest(filepath.ToSlash(fields[1]))
			case fields[0] == "loaded" && len(fields) == 4:
				p.python(fields)
			case fields[0] == "missing" && len(fields) == 4:
				missing.python(fields)
			}
		}
	})
	if tested { // tests of this project are written in Python and ran here: what they never loaded was not executed
		p.Merge(missing)
	}
	return p, ran, lost, err
}

// python reads the executable and the executed lines of a file.
func (p Profile) python(fields []string) {
	executed := map[string]bool{}
	for n := range strings.SplitSeq(fields[3], ",") {
		executed[n] = true
	}
	for n := range strings.SplitSeq(fields[2], ",") {
		if line, err := strconv.Atoi(n); err == nil {
			p.add(fields[1], line, executed[n])
		}
	}
}
