package proc

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
)

// Confined reports whether the other end of a TCP connection is in a sandbox: in a process that this or another ralph confines.
// A process can choose its environment, but not its parents, and cannot give back what confines it. One of this machine that
// cannot be found while there are sandboxes counts as such, unless it can be one that nobody may look into, such as sshd.
func Confined(local, remote net.Addr) bool {
	here, there := addrPort(local), addrPort(remote)
	for range 3 {
		if inside, certain := heldInside(here, there); certain {
			return inside
		}
	}
	return true
}

// confined are the processes below helpers that can gain no privileges. What this process is itself below does not count: it
// works for those who are there, too.
func confined() (table, map[int]bool) {
	t, _ := readTable() // whoever cannot be seen is not found
	own := map[int]bool{}
	for pid := os.Getpid(); pid > 0 && !own[pid]; pid = t[pid].ppid {
		own[pid] = true
	}
	var roots []int
	for pid := range t {
		if line, _ := os.ReadFile(procFile(pid, "cmdline")); string(line) == helperName+"\x00"+helperWaits+"\x00" && !own[pid] {
			roots = append(roots, pid)
		}
	}
	inside := map[int]bool{}
	for _, st := range t.below(roots...) {
		if status, _ := os.ReadFile(procFile(st.pid, "status")); bytes.Contains(status, []byte("\nNoNewPrivs:\t1\n")) {
			inside[st.pid] = true
		}
	}
	return t, inside
}

func procFile(pid int, name string) string { return "/proc/" + strconv.Itoa(pid) + "/" + name }

// heldInside looks for the processes that have the other end of a connection. It is not certain if none is found that has it.
func heldInside(here, there netip.AddrPort) (inside, certain bool) {
	t, in := confined()
	if len(in) == 0 {
		return false, true
	}
	inode, uid := socketOf(there, here)
	switch {
	case inode == "" && (there.Addr().IsLoopback() || there.Addr() == here.Addr()):
		return true, false // who has hung up waits for no answer
	case inode == "" || uid != strconv.Itoa(os.Geteuid()):
		return false, true // another machine, or another user
	}
	outside, blind, blindInside := false, false, false
	for pid := range t {
		fds, err := os.ReadDir(procFile(pid, "fd"))
		if errors.Is(err, fs.ErrPermission) { // another error is that of a process that ends
			blind, blindInside = true, blindInside || in[pid]
		}
		if slices.ContainsFunc(fds, func(fd os.DirEntry) bool {
			to, _ := os.Readlink(procFile(pid, "fd/") + fd.Name())
			return to == "socket:["+inode+"]"
		}) {
			if in[pid] {
				return true, true
			}
			outside = true
		}
	}
	if still, _ := socketOf(there, here); still != inode && !outside {
		return true, false // it hung up while we looked
	}
	return blindInside && !outside, outside || blind
}

// socketOf is the socket that has a connection from an address to another, and its user; empty if none of this machine has.
func socketOf(from, to netip.AddrPort) (inode, uid string) {
	for _, file := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		data, _ := os.ReadFile(file) // a machine may have only one of them
		for line := range strings.Lines(string(data)) {
			if f := strings.Fields(line); len(f) > 9 && f[9] != "0" && hexAddr(f[1]) == from && hexAddr(f[2]) == to {
				return f[9], f[7]
			}
		}
	}
	return "", ""
}

// hexAddr reads an address as the kernel lists it: words in the order of the machine, and a port.
func hexAddr(text string) netip.AddrPort {
	ip, port, _ := strings.Cut(text, ":")
	raw, err1 := hex.DecodeString(ip)
	n, err2 := strconv.ParseUint(port, 16, 16)
	if err1 != nil || err2 != nil {
		return netip.AddrPort{}
	}
	for i := 0; i+4 <= len(raw); i += 4 {
		binary.NativeEndian.PutUint32(raw[i:], binary.BigEndian.Uint32(raw[i:]))
	}
	addr, _ := netip.AddrFromSlice(raw)
	return netip.AddrPortFrom(addr.Unmap(), uint16(n))
}

func addrPort(a net.Addr) netip.AddrPort {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.AddrPort{}
	}
	at := tcp.AddrPort()
	return netip.AddrPortFrom(at.Addr().Unmap().WithZone(""), at.Port())
}
