package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
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

func (l layout) encode() (data []byte, err error) {
	o := order{layout: l}
	if l.Level == Namespaces {
		if o.Namespaces, err = namespaces(l.Offline); err != nil {
			return nil, err
		}
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
	cmd.Dir, cmd.Path = o.Place.Inside(o.Named.Inside(cmd.Dir)), o.Place.Inside(o.Named.Inside(cmd.Path))
	if o.Temp != "" {
		for _, name := range []string{"TMPDIR", "TMP", "TEMP"} {
			cmd.Env = setVariable(cmd.Env, name, o.Temp)
		}
	}
	if o.Proxy != "" && !o.ProbeOnly {
		variables, err := leadOut(o.Proxy)
		if err != nil {
			return fmt.Errorf("lead to the proxy: %w", err)
		}
		for _, entry := range variables {
			name, value, _ := strings.Cut(entry, "=")
			cmd.Env = setVariable(cmd.Env, name, value)
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

// namespaces asks for a helper with all it needs to arrange its mounts, and its network if that is its own.
func namespaces(offline bool) (*proc.Namespaces, error) {
	ns := &proc.Namespaces{Flags: unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC, Caps: setupCaps()}
	if offline {
		ns.Flags |= unix.CLONE_NEWNET
		ns.Caps = append(ns.Caps, unix.CAP_NET_ADMIN)
	}
	if hasCaps(unix.CAP_SETUID, unix.CAP_SETGID, unix.CAP_SETFCAP) {
		// Files keep all their owners; one id alone would turn the others into nobody.
		var err1, err2 error
		ns.Uids, err1 = sameIDs("/proc/self/uid_map")
		ns.Gids, err2 = sameIDs("/proc/self/gid_map")
		ns.Setgroups = setgroupsAllowed()
		return ns, errors.Join(err1, err2)
	}
	uid, gid := os.Geteuid(), os.Getegid()
	ns.Uids = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
	ns.Gids = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
	return ns, nil
}

// setgroupsAllowed reports whether this user namespace lets its processes set groups. One below it may not have more.
func setgroupsAllowed() bool {
	raw, err := os.ReadFile("/proc/self/setgroups")
	return err == nil && strings.TrimSpace(string(raw)) == "allow"
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

// try is nil if a process could be confined so: a helper does everything up to
// starting one.
func (l layout) try() error {
	l.ProbeOnly = true
	data, err := l.encode()
	if err != nil {
		return err
	}
	p, err := proc.Start(proc.Spec{Argv: []string{"/proc/self/exe"}, Confine: data})
	if err == nil {
		_ = p.Kill()
		return errors.New("the helper did not take the confinement")
	}
	if _, why, confined := strings.Cut(err.Error(), "confine: "); confined {
		if why == errProbed.Error() {
			return nil
		}
		return errors.New(strings.TrimPrefix(why, l.Level.String()+": "))
	}
	switch {
	case l.Level != Namespaces:
		return err
	case errors.Is(err, syscall.ENOSPC):
		return errors.New("user namespaces are switched off or used up (sysctl user.max_user_namespaces)")
	case errors.Is(err, syscall.EPERM), errors.Is(err, syscall.EACCES):
		return errors.New("user namespaces are not allowed here (a container's rules, or sysctl kernel.apparmor_restrict_unprivileged_userns or kernel.unprivileged_userns_clone)")
	}
	return fmt.Errorf("user namespaces do not work here: %w", err)
}

// setupCaps are what the helper needs inside its own user namespace: to mount,
// to let an overlay copy files of all owners, and to give the rest up.
func setupCaps() []uintptr {
	return []uintptr{
		unix.CAP_SYS_ADMIN, unix.CAP_SETPCAP, unix.CAP_SYS_RESOURCE, unix.CAP_CHOWN, unix.CAP_DAC_OVERRIDE,
		unix.CAP_DAC_READ_SEARCH, unix.CAP_FOWNER, unix.CAP_FSETID, unix.CAP_MKNOD,
	}
}

func hasCaps(wanted ...uint) bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if unix.Capget(&header, &data[0]) != nil {
		return false
	}
	for _, c := range wanted {
		if data[c/32].Effective&(1<<(c%32)) == 0 {
			return false
		}
	}
	return true
}

// securebits: being root gives no capability, neither does anything else, and
// none of it can be changed back.
const securebits = 1<<0 | 1<<1 | 1<<2 | 1<<3 | 1<<5 | 1<<6 | 1<<7

// dropCapabilities takes every capability, and every way to get one, from this
// thread and what it forks. As root a read-only mount could be remounted
// otherwise.
func dropCapabilities() error {
	if hasCaps(unix.CAP_SETPCAP) {
		for c := uintptr(0); c <= 63; c++ {
			if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err == unix.EINVAL {
				break // the kernel knows no more
			} else if err != nil {
				return err
			}
		}
		if err := unix.Prctl(unix.PR_SET_SECUREBITS, securebits, 0, 0, 0); err != nil {
			return err
		}
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return err
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&header, &none[0]); err != nil {
		return err
	}
	return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
}

func otherNames(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && info.Mode().IsRegular() && st.Nlink > 1
}
