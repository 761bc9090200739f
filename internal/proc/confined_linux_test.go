package proc

import (
	"net"
	"os"
	"strconv"
	"syscall"
	"testing"

	"ralph/internal/testing/check"
)

// TestTheSocketOfAConnectionIsFound by its addresses, from both ends.
func TestTheSocketOfAConnectionIsFound(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]struct{ listen, dial string }{
		"IPv4": {"127.0.0.1:0", "127.0.0.1"}, "IPv6": {"[::1]:0", "::1"}, "IPv4 to a server of both": {"[::]:0", "127.0.0.1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, err := net.Listen("tcp", at.listen)
			if err != nil {
				t.Skipf("no such address here: %v", err)
			}
			defer l.Close()
			client, err := net.Dial("tcp", net.JoinHostPort(at.dial, strconv.Itoa(l.Addr().(*net.TCPAddr).Port)))
			check.OK(t, err)
			defer client.Close()
			server, err := l.Accept()
			check.OK(t, err)
			defer server.Close()
			for _, c := range []net.Conn{client, server} {
				inode, uid := socketOf(addrPort(c.LocalAddr()), addrPort(c.RemoteAddr()))
				check.Equal(t, "the socket and its user", []string{inodeOf(t, c), strconv.Itoa(os.Geteuid())}, []string{inode, uid})
			}
			here := addrPort(l.Addr())
			inode, _ := socketOf(here, here)
			check.Equal(t, "the socket of no connection", "", inode)
		})
	}
}

func inodeOf(t *testing.T, c net.Conn) string {
	t.Helper()
	raw, err := c.(*net.TCPConn).SyscallConn()
	check.OK(t, err)
	var st syscall.Stat_t
	var serr error
	check.OK(t, raw.Control(func(fd uintptr) { serr = syscall.Fstat(int(fd), &st) }))
	check.OK(t, serr)
	return strconv.FormatUint(st.Ino, 10)
}
