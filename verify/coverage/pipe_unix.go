//go:build unix

package coverage

import (
	"crypto/rand"
	"errors"
	"io"
	"os"
	"syscall"
)

// pipe takes the profiles of all the calls of go that a gate makes. Each would begin a file anew; a named pipe they only write to.
type pipe struct {
	path string
	file *os.File
	last string // what is written to it when no gate runs any more
	done chan blocks
	said blocks

	heard bool // a profile was written, once it has ended
}

func openPipe(path string, wanted func(name string) bool) (*pipe, error) {
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		return nil, err
	}
	// For writing, too: it stays open when a gate closes it, and opening it does not wait.
	f, err := os.OpenFile(path, os.O_RDWR|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	p := &pipe{path: path, file: f, last: rand.Text(), done: make(chan blocks, 1)}
	go func() {
		b := blocks{}
		_ = b.read(&until{from: f, last: p.last}, func(name string) bool { // what cannot be read was not measured
			p.heard = true // a profile begins with its mode, which has a colon as well
			return wanted(name)
		})
		p.done <- b
	}()
	return p, nil
}

// end returns what was written.
func (p *pipe) end() (blocks, error) {
	if p.file == nil {
		return p.said, nil
	}
	_, err := io.WriteString(p.file, "\n"+p.last+"\n")
	if err == nil {
		p.said = <-p.done
	}
	err = errors.Join(err, p.file.Close())
	p.file = nil
	return p.said, err
}
