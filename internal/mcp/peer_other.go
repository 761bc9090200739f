//go:build !linux

package mcp

import "net"

// peer leaves it to the rights of the socket's folder.
func peer(*net.UnixConn) (pid int, ok bool) { return 0, true }
