package sandbox

import (
	"errors"
	"fmt"
	"strings"
	"syscall"

	"ralph/internal/proc"
)

// try is nil if a process could be confined so: a helper does everything up to
// starting one.
func (l layout) try() error {
	level := l.Level
	l.ProbeOnly = true
	data, err := l.encode(level)
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
		return errors.New(why)
	}
	switch {
	case level != Namespaces:
		return err
	case errors.Is(err, syscall.ENOSPC):
		return errors.New("user namespaces are switched off or used up (sysctl user.max_user_namespaces)")
	case errors.Is(err, syscall.EPERM), errors.Is(err, syscall.EACCES):
		return errors.New("user namespaces are not allowed here (a container's rules, or sysctl kernel.apparmor_restrict_unprivileged_userns or kernel.unprivileged_userns_clone)")
	}
	return fmt.Errorf("user namespaces do not work here: %w", err)
}
