package sandbox

import (
	"net"

	"ralph/internal/proxy"
)

// leadOut listens on the loopback interface of a network with nothing else on it, and leads who connects to a socket in the
// file system, for as long as this process lives: programs cannot be told to use a proxy that is a file. It returns the
// variables that tell them where it listens.
func leadOut(socket string) ([]string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				out, err := net.Dial("unix", socket)
				if err != nil {
					return
				}
				defer out.Close()
				proxy.Join(conn, conn, out)
			}()
		}
	}()
	const loopback = "localhost,127.0.0.1,::1"
	at := "http://" + l.Addr().String()
	return []string{
		"HTTPS_PROXY=" + at, "https_proxy=" + at, "HTTP_PROXY=" + at, "http_proxy=" + at,
		"NO_PROXY=" + loopback, "no_proxy=" + loopback, "ALL_PROXY=", "all_proxy=",
		"NODE_USE_ENV_PROXY=1", // Node looks at the others only then
		"RALPH_PROXY=" + at,    // for ralph's own agent: its model may be on this machine, and then not on this interface
	}, nil
}
