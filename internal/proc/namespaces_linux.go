package proc

import (
	"encoding/json"
	"syscall"
)

// Namespaces asks for a helper that is born in namespaces of its own, which a
// running Go program cannot enter any more. It stands in Spec.Confine, then a
// JSON object, as its member "namespaces"; the rest belongs to the Confiner.
//
// In a pid namespace the helper is the init process: nothing inside can kill,
// stop or outlive it, and Process.Pid is its id, because the process's own
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

// needsOwnHelper is for what a helper that waits, in no namespace, cannot do.
func needsOwnHelper(spec Spec) bool { return namespacesOf(spec.Confine) != nil }

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
