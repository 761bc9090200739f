package story

import (
	"bufio"
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
)

// TestTenThousand passes 10,000 attempts through one run with a server in memory and a ralph that does nothing, so that only
// ralph-temporal is looked at. Its workflow continues as new, several times, and each attempt is settled once.
func TestTenThousand(t *testing.T) {
	tasks := number(t, "RALPH_TEMPORAL_MANY", 10_000)
	check(t, build("memserver", "memserver"))
	p := newPlace(t)
	server := p.command(p.dir, "memserver")
	stdin, err := server.StdinPipe()
	check(t, err)
	defer stdin.Close()
	stdout, err := server.StdoutPipe()
	check(t, err)
	check(t, server.Start())
	defer server.Process.Kill()
	line, err := bufio.NewReader(stdout).ReadString('\n')
	check(t, err)
	var namespace string
	_, err = fmt.Sscan(line, &p.address, &namespace)
	check(t, err)
	p.configure(fmt.Sprintf("namespace = %q", namespace))
	p.git(p.home, "push", "-q")

	settled := filepath.Join(p.dir, "settled")
	fake := []string{"RALPH=" + filepath.Join(bin, "fakeralph"), fmt.Sprintf("FAKE_TASKS=%d", tasks), "FAKE_SETTLED=" + settled}
	for i := range 4 {
		w := p.workerCommand(fmt.Sprintf("w%d", i+1), 8)
		w.Env = append(w.Env, fake...)
		p.start(fmt.Sprintf("w%d", i+1), w)
	}
	begun := time.Now()
	cmd := p.command(p.home, "ralph-temporal", "run", "--jobs", "32")
	cmd.Env = append(cmd.Env, fake...)
	p.expect(p.start("run", cmd), 0, 50*time.Minute)
	took := time.Since(begun)

	seen := map[string]int{}
	for line := range strings.Lines(readAll(settled)) {
		id, failure, _ := strings.Cut(strings.TrimSpace(line), " ")
		if seen[id]++; failure != "" || seen[id] > 1 {
			t.Fatalf("attempt %s was settled %d times: %s", id, seen[id], failure)
		}
	}
	equal(t, "the attempts that were settled", tasks, len(seen))
	c, err := client.Dial(client.Options{HostPort: p.address, Namespace: namespace, Logger: quiet{}})
	check(t, err)
	defer c.Close()
	var lengths []int64
	await(t, "the executions to be listed", func() bool {
		list, err := c.ListWorkflow(context.Background(), &workflowservice.ListWorkflowExecutionsRequest{Query: "WorkflowType = 'ralph-run'"})
		check(t, err)
		lengths = nil
		closed := 0
		for _, w := range list.GetExecutions() {
			lengths = append(lengths, w.GetHistoryLength())
			if w.GetCloseTime() != nil {
				closed++
			}
		}
		return closed > 0 && closed == len(lengths)
	})
	var events int64
	for _, n := range lengths {
		events += n
	}
	if len(lengths) < 2 {
		t.Errorf("the workflow has not continued as new: histories of %v events", lengths)
	}
	t.Logf("FIGURES: %d attempts in %v, %.1f a second, in %d executions of %v events: %.2f for each attempt",
		tasks, took.Round(time.Second), float64(tasks)/took.Seconds(), len(lengths), lengths, float64(events)/float64(tasks))
}
