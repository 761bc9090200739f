package sandbox

import (
	"io/fs"
	"syscall"
)

// stamp tells files apart beyond their names. The change time moves with every
// write, chmod, chown, link and touch, and no system call sets it.
type stamp struct {
	dev, ino uint64
	ctime    syscall.Timespec
	uid, gid int
}

func stampOf(info fs.FileInfo) stamp {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return stamp{}
	}
	return stamp{dev: st.Dev, ino: st.Ino, ctime: st.Ctim, uid: int(st.Uid), gid: int(st.Gid)}
}

func (s stamp) sameFile(now stamp) bool  { return s.dev == now.dev && s.ino == now.ino && s.ino != 0 }
func (s stamp) sameOwner(now stamp) bool { return s.uid == now.uid && s.gid == now.gid }

// recent reports a change within ten ticks of the slowest clock before now.
func (s stamp) recent(now stamp) bool {
	const tick = 10e6
	return now.ctime.Nano()-s.ctime.Nano() < 10*tick
}

// forgotten is the stamp of a file that has to be read to be judged.
func (s stamp) forgotten() stamp {
	s.ctime = syscall.Timespec{}
	return s
}

func (s stamp) untouched(now stamp) bool { return s.sameFile(now) && s.ctime == now.ctime }
