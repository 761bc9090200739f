package report_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"ralph/internal/testing/check"
)

// browser is a tab of Chromium without a window, spoken to through a pipe in its
// DevTools protocol: JSON objects, each with a 0 behind it.
type browser struct {
	to, from *os.File
	answers  *bufio.Reader
	said     *bytes.Buffer // on stderr
	id       int
	tab      string
	events   []message // that came while something else was waited for
}

type message struct {
	ID                    int
	Method                string
	Params, Result, Error json.RawMessage
}

// patience is for a browser that hangs; nothing is judged by it.
const patience = 3 * time.Minute

func startChromium(t *testing.T, path string) *browser {
	t.Helper()
	theirIn, to, err := os.Pipe()
	check.OK(t, err)
	from, theirOut, err := os.Pipe()
	check.OK(t, err)
	b := &browser{to: to, from: from, answers: bufio.NewReader(from), said: &bytes.Buffer{}}
	cmd := exec.Command(path, "--headless=new", "--remote-debugging-pipe", "--user-data-dir="+t.TempDir(), "--hide-scrollbars",
		"--no-first-run", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage")
	if os.Geteuid() == 0 {
		cmd.Args = append(cmd.Args, "--no-sandbox") // it refuses to be root otherwise; the page is ours
	}
	cmd.ExtraFiles = []*os.File{theirIn, theirOut} // 3 and 4 is where it looks for them
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Stderr, cmd.WaitDelay = b.said, time.Second
	check.OK(t, cmd.Start())
	t.Cleanup(func() {
		end := func() { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
		late := time.AfterFunc(10*time.Second, end)
		to.Close() // which ends it, and it waits for its own
		cmd.Wait()
		late.Stop()
		end()
		from.Close()
	})
	theirIn.Close()
	theirOut.Close()
	return b
}

// call asks for something and puts the answer into result, if that is not nil.
func (b *browser) call(t *testing.T, method string, params map[string]any, result any) {
	t.Helper()
	b.id++
	request := map[string]any{"id": b.id, "method": method, "params": params}
	if b.tab != "" {
		request["sessionId"] = b.tab
	}
	text, err := json.Marshal(request)
	check.OK(t, err)
	if _, err := b.to.Write(append(text, 0)); err != nil {
		t.Fatalf("%s: %v; it said\n%s", method, err, b.said)
	}
	answer := b.wait(t, method, func(m message) bool { return m.ID == b.id })
	if answer.Error != nil {
		t.Fatalf("%s: %s", method, answer.Error)
	}
	if result == nil {
		return
	}
	if err := json.Unmarshal(answer.Result, result); err != nil {
		t.Fatalf("%s: %v: %s", method, err, answer.Result)
	}
}

// wait returns the next message that is wanted, and keeps the events before it.
func (b *browser) wait(t *testing.T, what string, wanted func(message) bool) message {
	t.Helper()
	for {
		b.from.SetReadDeadline(time.Now().Add(patience))
		text, err := b.answers.ReadBytes(0)
		var m message
		if err == nil {
			err = json.Unmarshal(text[:len(text)-1], &m)
		}
		if err != nil {
			t.Fatalf("waiting for %s: %v; it said\n%s", what, err, b.said)
		}
		if wanted(m) {
			return m
		}
		b.events = append(b.events, m)
	}
}

// run calls a function of the page's language and puts what it returns into result.
func (b *browser) run(t *testing.T, function string, argument, result any) {
	t.Helper()
	var answer struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails json.RawMessage
	}
	b.call(t, "Runtime.evaluate", map[string]any{"expression": fmt.Sprintf("(%s)(%v)", function, argument), "returnByValue": true, "awaitPromise": true}, &answer)
	if answer.ExceptionDetails != nil {
		t.Fatalf("%s", answer.ExceptionDetails)
	}
	if err := json.Unmarshal(answer.Result.Value, result); err != nil {
		t.Fatalf("%s: %v", answer.Result.Value, err)
	}
}
