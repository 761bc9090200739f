package proc

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// idle is a helper that waits for its order. Most of what starting a process
// costs is starting its helper, so one may be kept waiting.
type idle struct {
	cmd     *exec.Cmd
	control *os.File // ours; closing it ends the helper and all below it
	status  *os.File
}

func startIdle(ns *Namespaces, owner string) (*idle, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("make control socket: %w", err)
	}
	theirs := os.NewFile(uintptr(pair[1]), "control")
	defer theirs.Close()
	h := &idle{control: os.NewFile(uintptr(pair[0]), "control")}
	statusRead, statusWrite, err := os.Pipe()
	if err != nil {
		h.control.Close()
		return nil, err
	}
	defer statusWrite.Close()
	h.status = statusRead
	h.cmd = &exec.Cmd{
		Path:        "/proc/self/exe", // not os.Executable: the file may have been replaced while we run
		Args:        []string{helperName, helperWaits},
		Env:         []string{MarkerEnv + "=" + owner + "/helper"},
		Dir:         "/",
		Stderr:      statusWrite, // a helper that breaks says so where we listen
		ExtraFiles:  []*os.File{theirs, statusWrite},
		SysProcAttr: ns.attr(),
	}
	if err := h.cmd.Start(); err != nil {
		h.control.Close()
		h.status.Close()
		return nil, fmt.Errorf("start helper: %w", err)
	}
	return h, nil
}

// give hands the helper its order: one byte with the process's stdio, then the
// rest as a line.
func (h *idle) give(o order, stdio [3]*os.File) error {
	raw, err := json.Marshal(o)
	if err != nil {
		return err
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	var fds [3]int
	for i, file := range stdio {
		if file == nil {
			file = null
		}
		fds[i] = int(file.Fd())
	}
	if err := unix.Sendmsg(int(h.control.Fd()), []byte{askStart}, unix.UnixRights(fds[:]...), nil, unix.MSG_NOSIGNAL); err != nil {
		return fmt.Errorf("reach helper: %w", err)
	}
	if _, err := h.control.Write(append(raw, '\n')); err != nil {
		return fmt.Errorf("reach helper: %w", err)
	}
	return nil
}

// dismiss ends a helper that has nothing below it, and says how it ended.
func (h *idle) dismiss() string {
	h.control.Close()
	h.status.Close()
	_ = h.cmd.Wait()
	return h.cmd.ProcessState.String()
}

// Namespaces asks for a helper that is born in namespaces of its own, which a
// running Go program cannot enter any more. It stands in Spec.Confine, then a
// JSON object, as its member "namespaces"; the rest belongs to the Confiner.
//
// In a pid namespace the helper is the init process: nothing inside can kill,
// stop or outlive it, and Process.Identity names it, because the process's own
// means nothing outside.
type Namespaces struct {
	Flags     uintptr                `json:"flags"`
	Uids      []syscall.SysProcIDMap `json:"uids"`
	Gids      []syscall.SysProcIDMap `json:"gids"`
	Setgroups bool                   `json:"setgroups,omitempty"`
	Caps      []uintptr              `json:"caps,omitempty"` // the helper has them inside
}

// namespacesOf is nil if the confinement asks for none.
func namespacesOf(confine []byte) *Namespaces {
	var wish struct {
		Namespaces *Namespaces `json:"namespaces"`
	}
	if json.Unmarshal(confine, &wish) != nil {
		return nil
	}
	return wish.Namespaces
}

func (n *Namespaces) attr() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setsid: true}
	if n != nil {
		attr.Cloneflags = n.Flags
		attr.UidMappings, attr.GidMappings = n.Uids, n.Gids
		attr.GidMappingsEnableSetgroups = n.Setgroups
		attr.AmbientCaps = n.Caps
	}
	return attr
}
