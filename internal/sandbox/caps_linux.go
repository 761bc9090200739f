package sandbox

import (
	"golang.org/x/sys/unix"
)

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
