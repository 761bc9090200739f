package mcp

import (
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// peer is the process at the other end, as this one counts processes. It has to be of the same user.
func peer(conn *net.UnixConn) (pid int, ok bool) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, false
	}
	err = raw.Control(func(fd uintptr) {
		if cred, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
			pid, ok = int(cred.Pid), int(cred.Uid) == os.Geteuid()
		}
	})
	return pid, err == nil && ok
}
