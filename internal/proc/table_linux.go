package proc

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

type stat struct {
	pid, ppid, session int
	start              uint64
	state              byte
	threads            int
	resident           int64 // bytes in memory, those that it shares included
}

func (s stat) zombie() bool { return s.state == 'Z' || s.state == 'X' }

func readStat(pid int) (stat, error) {
	return readStatAt(unix.AT_FDCWD, "/proc/"+strconv.Itoa(pid), make([]byte, 1<<10))
}

// readStatAt reads with three calls of the system and nothing else, as all processes of the machine are looked at in each round. The
// file fits into the buffer: of 52 numbers, and a name of 64 bytes at most.
func readStatAt(dir int, folder string, buffer []byte) (stat, error) {
	fd, err := unix.Openat(dir, folder+"/stat", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return stat{}, err
	}
	defer unix.Close(fd)
	for {
		n, err := unix.Read(fd, buffer)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return stat{}, err
		case n == len(buffer):
			return stat{}, fmt.Errorf("long process status %q", buffer)
		default:
			return parseStat(buffer[:n])
		}
	}
}

// parseStat reads "pid (comm) state ppid pgrp session ... threads ... start ... resident". The name
// may contain anything, parentheses too, so the fields count from the last one.
func parseStat(raw []byte) (stat, error) {
	open, end := bytes.IndexByte(raw, '('), bytes.LastIndexByte(raw, ')')
	if open < 1 || end < open {
		return stat{}, fmt.Errorf("unreadable process status %q", raw)
	}
	var fields [22][]byte
	rest := bytes.TrimSpace(raw[end+1:])
	for i := range fields {
		if len(rest) == 0 {
			return stat{}, fmt.Errorf("short process status %q", raw)
		}
		fields[i], rest, _ = bytes.Cut(rest, []byte(" "))
	}
	pid, err1 := strconv.Atoi(string(bytes.TrimSpace(raw[:open])))
	ppid, err2 := strconv.Atoi(string(fields[1]))
	session, err3 := strconv.Atoi(string(fields[3]))
	threads, err4 := strconv.Atoi(string(fields[17]))
	start, err5 := strconv.ParseUint(string(fields[19]), 10, 64)
	pages, err6 := strconv.ParseInt(string(fields[21]), 10, 64)
	if err := errors.Join(err1, err2, err3, err4, err5, err6); err != nil {
		return stat{}, fmt.Errorf("unreadable process status: %w", err)
	}
	return stat{
		pid: pid, ppid: ppid, session: session, start: start, state: fields[0][0], threads: threads, resident: pages * int64(os.Getpagesize()),
	}, nil
}

type table map[int]stat

func readTable() (table, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1) // os.ReadDir would sort them, each time
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	t, buffer := make(table, len(names)), make([]byte, 1<<10)
	for _, name := range names {
		if name[0] < '0' || name[0] > '9' {
			continue
		}
		if pid, err := strconv.Atoi(name); err == nil {
			if st, err := readStatAt(int(dir.Fd()), name, buffer); err == nil {
				t[pid] = st
			}
		}
	}
	return t, nil
}

// trees is every process that is a root, with all below it, without zombies.
func (t table) trees(root func(stat) bool) []stat {
	var roots []int
	var out []stat
	for pid, st := range t {
		if !st.zombie() && root(st) {
			roots, out = append(roots, pid), append(out, st)
		}
	}
	return append(out, t.below(roots...)...)
}

// below is every process under the given roots, without the roots themselves
// and without zombies, which only wait for their parent.
func (t table) below(roots ...int) []stat {
	children := make(map[int][]stat, len(t))
	for _, st := range t {
		children[st.ppid] = append(children[st.ppid], st)
	}
	seen := make(map[int]bool, len(roots))
	queue := append([]int(nil), roots...)
	for _, root := range roots {
		seen[root] = true
	}
	var out []stat
	for len(queue) > 0 {
		parent := queue[0]
		queue = queue[1:]
		for _, st := range children[parent] {
			if seen[st.pid] {
				continue
			}
			seen[st.pid] = true
			queue = append(queue, st.pid)
			if !st.zombie() {
				out = append(out, st)
			}
		}
	}
	return out
}

// send sends sig to exactly the process that was looked at: a pid that was
// given to somebody else in the meantime is left alone.
func send(st stat, sig unix.Signal) {
	kill := func() error { return unix.Kill(st.pid, sig) } // for kernels and sandboxes without pidfds
	fd, err := unix.PidfdOpen(st.pid, 0)
	if err == nil {
		defer unix.Close(fd)
		kill = func() error { return unix.PidfdSendSignal(fd, sig, nil, 0) }
	}
	if errors.Is(err, unix.ESRCH) {
		return
	}
	if now, err := readStat(st.pid); err == nil && now.start == st.start {
		_ = kill()
	}
}

// OpenForWriting lists the files that this process has open for writing, wherever that
// came from: a redirection, a flag, a setting.
func OpenForWriting() []string {
	const dir = "/proc/self/fd/"
	var paths []string
	entries, _ := os.ReadDir(dir)
	for _, entry := range entries {
		fd, _ := strconv.Atoi(entry.Name())
		var stat unix.Stat_t
		if unix.Fstat(fd, &stat) != nil || stat.Mode&unix.S_IFMT != unix.S_IFREG {
			continue // most are pipes
		}
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0); err != nil || flags&(os.O_WRONLY|os.O_RDWR) == 0 {
			continue
		}
		if path, err := os.Readlink(dir + entry.Name()); err == nil {
			paths = append(paths, path)
		}
	}
	return paths
}
