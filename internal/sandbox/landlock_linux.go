package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
)

// landlockNeeds is the first ABI that covers truncation; before it, files
// outside could be emptied.
const landlockNeeds = 3

// enterLandlock restricts the helper, and with it what it starts, to writing
// what the layout names and reading what it does not hide.
func (o order) enterLandlock() error {
	if abi, err := ll.LandlockGetABIVersion(); err != nil {
		return fmt.Errorf("landlock: %w", err)
	} else if abi < landlockNeeds {
		return fmt.Errorf("landlock: the kernel has version %d, %d is needed", abi, landlockNeeds)
	}
	rules := []landlock.Rule{
		// Rules cannot take away, so listing a hidden folder stays possible.
		landlock.PathAccess(ll.AccessFSReadDir, "/"),
		// Neither /dev/ptmx nor /dev/pts: whoever may open a terminal of its own may open every other of the user.
		landlock.RWFiles("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty").WithIoctlDev().IgnoreIfMissing(),
	}
	// Not /dev: root could read a disk around all rules.
	for _, path := range visible("/", append(slices.Clone(o.Hide), "/dev")) {
		rules = append(rules, readRule(path))
	}
	for _, path := range o.Write {
		rules = append(rules, writeRule(path))
	}
	// One set of rules for both: a second one would forbid renaming between
	// folders, as every set does that does not allow it.
	config, err := landlock.NewConfig(allAccess, allScopes)
	if err != nil {
		return fmt.Errorf("landlock: %w", err)
	}
	if err := config.BestEffort().Restrict(rules...); err != nil {
		return fmt.Errorf("landlock: %w", err)
	}
	return nil
}

// Everything that the newest version known to us can restrict, except for the
// network. What the kernel does not know is left out.
const (
	allAccess = landlock.AccessFSSet(1<<17 - 1)
	allScopes = landlock.ScopedSet(1<<2 - 1)
)

// scope keeps the process from sockets without a path, and from signalling what
// was not started inside, as far as the kernel can.
func scope() error {
	if err := landlock.V6.BestEffort().RestrictScoped(); err != nil {
		return fmt.Errorf("landlock: %w", err)
	}
	return nil
}

func readRule(path string) landlock.Rule {
	if isDir(path) {
		return landlock.RODirs(path).IgnoreIfMissing()
	}
	return landlock.ROFiles(path).IgnoreIfMissing()
}

func writeRule(path string) landlock.Rule {
	if isDir(path) {
		return landlock.RWDirs(path).WithRefer().WithResolveUnix().IgnoreIfMissing()
	}
	return landlock.RWFiles(path).WithIoctlDev().WithResolveUnix().IgnoreIfMissing()
}

// visible is what together makes up all below dir except what is hidden: dir
// itself if nothing in it is, otherwise the same of its entries.
func visible(dir string, hidden []string) []string {
	if slices.Contains(hidden, dir) {
		return nil
	}
	if !slices.ContainsFunc(hidden, func(path string) bool { return within(path, dir) }) {
		return []string{dir}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var out []string
	for _, entry := range entries {
		// A link is no way around: rules hold for what it leads to.
		if entry.Type()&os.ModeSymlink == 0 {
			out = append(out, visible(filepath.Join(dir, entry.Name()), hidden)...)
		}
	}
	return out
}
