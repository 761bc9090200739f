package sandbox

import "fmt"

// Level is how well processes are confined. A higher one is better.
type Level int

// The levels.
const (
	None       Level = iota // confines nothing
	Landlock                // refuses writes, and reads of hidden files, by path
	Namespaces              // gives the process a file system and a process table of its own
)

func (l Level) String() string {
	return [...]string{"none", "landlock", "namespaces"}[l]
}

// unseen is what changes all the time while an agent works, by ralph itself or by a
// person, so that it does not show that the agent did it.
const unseen = "the database, runs, objects, documents of features, their staging and knowledge below .ralph, and repositories inside that are ignored or new"

// Gaps says, in sentences for a person, what the level does not cover.
func (l Level) Gaps() []string {
	switch l {
	case Namespaces:
		return []string{
			"services that listen on the network, also on this machine, can be reached by whoever has it: see [sandbox.network]",
			"what is not hidden can be read",
			"the agent's own state folders, [sandbox] write folders and, except in slots, build caches at work are really written",
			"hooks and configuration of repositories inside the project can be written if git ignores them or they are new; if they are moved away and recreated, that is found afterwards",
			"sockets in the file system outside /run and /tmp can be connected to",
			"cpu and disk space are not limited",
		}
	case Landlock:
		return []string{
			"mode, owner, times and extended attributes of files outside the project can be changed",
			"ralph's configuration and state and git's hooks and configuration can be written; that is found afterwards, except for " + unseen,
			"a verifier that writes the project, to build or to test, is refused; under namespaces it would work on a throwaway copy",
			"build caches are really written at work; in slots, those that no variable moves, and downloads",
			"in slots, tests of rejected work can write caches that later gates read",
			"names in hidden folders can be listed, their files not read",
			"processes outside can be seen, and on kernels before 6.12 signalled",
			"sockets in the file system can be connected to on kernels before 7.1",
			"the network is not restricted",
		}
	}
	return []string{
		"every process may read and write whatever the user may",
		"changes of ralph's configuration and state and git's hooks and configuration are found afterwards, except for " + unseen,
		"a verifier's changes to the project are noticed and stay, those elsewhere are not noticed",
	}
}

// Grants says how to get namespaces where the kernel has them and something else forbids them.
const Grants = "a container needs --security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined (Docker, Podman); " +
	"seccompProfile and appArmorProfile of type Unconfined, procMount: Unmasked and hostUsers: false (Kubernetes): docs/security.md, Containers"

// Report is what Detect found.
type Report struct {
	Level   Level
	Reasons []string // why each better level is not available
}

// Detect finds the best level, up to most, that works on this machine. It takes
// some milliseconds; callers keep the answer.
func Detect(most Level) Report {
	return best(most, func(level Level) error { return layout{Level: level}.try() })
}

// DetectFor finds the best level, up to that of the profile, at which it holds: a
// mount in the wrong place may make one impossible that the machine has. The
// error is for a profile that holds at no level, whatever the machine.
func DetectFor(p Profile) (Report, error) {
	if p.Level == None {
		return Detect(None), nil
	}
	if _, err := p.layout(); err != nil {
		return Report{}, err
	}
	return best(p.Level, func(level Level) error {
		p.Level = level
		l, err := p.layout()
		if err != nil {
			return err
		}
		return l.try()
	}), nil
}

func best(most Level, try func(Level) error) Report {
	var r Report
	for level := Namespaces; level > None; level-- {
		if level > most {
			r.Reasons = append(r.Reasons, fmt.Sprintf("%s: not asked for", level))
			continue
		}
		err := try(level)
		if err == nil {
			r.Level = level
			break
		}
		r.Reasons = append(r.Reasons, fmt.Sprintf("%s: %v", level, err))
	}
	return r
}
