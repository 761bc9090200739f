//go:build failpoint

package failpoint

import (
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// On says that points can be hit in this build.
const On = true

// Env names the point at which to die, such as in-prompt, or in-prompt:2 for the second time. At in-prompt:panic
// the program panics, each time. At in-prompt:/FILE it makes that file, and goes on when the file is gone.
const Env = "RALPH_FAILPOINT"

var hits atomic.Int64

// Hit dies here, as by kill -9, if this is the point that was asked for.
func Hit(name string) {
	point, nth, _ := strings.Cut(os.Getenv(Env), ":")
	if point != name {
		return
	}
	if nth == "panic" {
		panic("at " + name)
	}
	if strings.HasPrefix(nth, "/") {
		if hits.Add(1) == 1 {
			hold(nth)
		}
		return
	}
	want, err := strconv.ParseInt(nth, 10, 64)
	if err != nil {
		want = 1
	}
	if hits.Add(1) == want {
		self, err := os.FindProcess(os.Getpid())
		if err == nil {
			_ = self.Kill()
		}
		select {} // until the signal has arrived
	}
}

func hold(file string) {
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		panic(err)
	}
	for {
		if _, err := os.Stat(file); err != nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}
