//go:build unix

package db_test

import (
	"errors"
	"syscall"
)

const nobody = 65534

// dropPrivileges makes this process one of an ordinary user.
func dropPrivileges() error {
	if syscall.Getuid() != 0 {
		return nil
	}
	return errors.Join(syscall.Setgroups(nil), syscall.Setgid(nobody), syscall.Setuid(nobody))
}
