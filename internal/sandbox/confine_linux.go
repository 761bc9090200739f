package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"ralph/internal/proc"
)

type order struct {
	Namespaces *proc.Namespaces `json:"namespaces,omitempty"`
	layout
}

func (l layout) encode(level Level) ([]byte, error) {
	o := order{layout: l}
	if level == Namespaces {
		ns, err := namespaces()
		if err != nil {
			return nil, err
		}
		o.Namespaces = ns
	}
	return json.Marshal(o)
}

// errProbed is how a probe, which starts nothing, says that all went well.
var errProbed = errors.New("the sandbox works")

// Confine is the Confiner for proc.RunHelper.
func Confine(data []byte, cmd *proc.Command) error {
	var o order
	if err := json.Unmarshal(data, &o); err != nil {
		return fmt.Errorf("read confinement: %w", err)
	}
	// Whatever ralph itself was started with, a folder of the outside above
	// all, must not reach the process.
	if err := unix.CloseRange(3, ^uint(0)>>1, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return fmt.Errorf("close inherited files: %w", err)
	}
	if o.Level == Namespaces || os.Geteuid() == 0 {
		// The helper's other threads keep their capabilities; nothing that it
		// starts may trace it or look into it.
		if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
			return fmt.Errorf("close the helper to tracing: %w", err)
		}
	}
	confine := o.enterLandlock
	if o.Level == Namespaces {
		confine = o.enterNamespaces
	}
	if err := confine(); err != nil {
		return err
	}
	if o.Temp != "" {
		for _, name := range []string{"TMPDIR", "TMP", "TEMP"} {
			cmd.Env = setVariable(cmd.Env, name, o.Temp)
		}
	}
	if err := dropCapabilities(); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	if o.ProbeOnly {
		return errProbed
	}
	return nil
}

func setVariable(env []string, name, value string) []string {
	env = slices.DeleteFunc(env, func(entry string) bool { return strings.HasPrefix(entry, name+"=") })
	return append(env, name+"="+value)
}

// namespaces asks for a helper with all it needs to arrange its mounts.
func namespaces() (*proc.Namespaces, error) {
	ns := &proc.Namespaces{Flags: unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC, Caps: setupCaps()}
	if hasCaps(unix.CAP_SETUID, unix.CAP_SETGID, unix.CAP_SETFCAP) {
		// Files keep all their owners; one id alone would turn the others into nobody.
		var err1, err2 error
		ns.Uids, err1 = sameIDs("/proc/self/uid_map")
		ns.Gids, err2 = sameIDs("/proc/self/gid_map")
		ns.Setgroups = true
		return ns, errors.Join(err1, err2)
	}
	uid, gid := os.Geteuid(), os.Getegid()
	ns.Uids = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
	ns.Gids = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
	return ns, nil
}

func sameIDs(file string) ([]syscall.SysProcIDMap, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var out []syscall.SysProcIDMap
	for line := range strings.Lines(string(raw)) {
		var inside, outside, size int
		if _, err := fmt.Sscan(line, &inside, &outside, &size); err != nil {
			return nil, fmt.Errorf("read %s: %w", file, err)
		}
		out = append(out, syscall.SysProcIDMap{ContainerID: inside, HostID: inside, Size: size})
	}
	return out, nil
}
