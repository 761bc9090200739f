package cli

import (
	"os"
	"syscall"
	"testing"

	"ralph/internal/testing/check"
)

func TestASecondSignalDoesNotEndWhatGoesOnAfterwards(t *testing.T) {
	t.Parallel()
	signals, statuses := make(chan os.Signal), make(chan int, 2)
	passed, forget := endAfterSecond(signals, func(status int) { statuses <- status })
	twice := func(s os.Signal) {
		for range 2 {
			signals <- s
			<-passed
		}
	}
	twice(os.Interrupt)
	forget()
	twice(syscall.SIGTERM)
	check.Equal(t, "the status of the first end", 128+int(syscall.SIGTERM), <-statuses)
}
