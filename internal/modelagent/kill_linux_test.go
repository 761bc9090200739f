package modelagent

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	ralph "ralph/acp"
	"ralph/internal/testing/check"
	"ralph/internal/testing/raced"
)

// killable builds this test program with its failpoints.
func killable(t *testing.T) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "agent.test")
	out, err := exec.CommandContext(t.Context(), "go", "test", "-c", "-tags", "failpoint", "-o", bin, ".").CombinedOutput()
	if err != nil {
		t.Fatalf("build with failpoints: %v\n%s", err, out)
	}
	return bin
}

// TestAKilledAgentGoesOn kills the agent before and after each record that it stores, and in the middle of it, once or
// also while it loads the session. Every command runs at most once, and the model learns which did.
func TestAKilledAgentGoesOn(t *testing.T) {
	raced.Long(t, "the program is killed here")
	t.Parallel()
	bin := killable(t)
	random := rand.New(rand.NewPCG(1, 2))
	const records = 20 // of a turn in which nobody is killed
	var places sync.Map
	t.Run("points", func(t *testing.T) {
		for n := 1; n <= records+1; n++ {
			for _, point := range []string{"before-record", "after-record"} {
				for _, torn := range []int64{0, random.Int64N(60) + 1} {
					if point == "before-record" && torn > 0 {
						continue
					}
					again := []string{"", "before-record:1", "after-record:1", "before-record:2", "after-record:3"}[random.IntN(5)]
					name := fmt.Sprintf("%s:%d", point, n)
					t.Run(fmt.Sprintf("%s torn %d again %s", name, torn, again), func(t *testing.T) {
						t.Parallel()
						places.Store(name, kill(t, bin, name, torn, again))
					})
				}
			}
		}
	})
	for _, last := range []string{"before-record", "after-record"} { // else the number of records is wrong, and some are not tried
		killed, _ := places.Load(fmt.Sprintf("%s:%d", last, records))
		survived, _ := places.Load(fmt.Sprintf("%s:%d", last, records+1))
		check.That(t, killed == true && survived == false, "a turn does not store %d records: %v, %v", records, killed, survived)
	}
}

// script is a model that goes on with the next step whatever came of the last one.
func script(_ int, r Request) said {
	log := func(what string) string { return bash("echo " + what + " >> log") }
	steps := []said{
		calls("bash", log("one"), "read", `{"path":"log"}`, "bash", log("two")),
		calls("read", `{"path":"log"}`, "read", `{"path":"log"}`),
		calls("write", `{"path":"three","content":"x"}`, "bash", log("four")),
	}
	if n := len(r.Messages) / 2; n < len(steps) {
		return steps[n]
	}
	return says("Done.")
}

// kill lets an agent die at a point and goes on with its session. It says whether it died.
func kill(t *testing.T, bin, point string, torn int64, again string) (died bool) {
	m := perform(t, script)
	dir := t.TempDir()
	start := func(at, session string) (*client, error) {
		return m.connect(func(c *ralph.Config) {
			if c.Dir = dir; at != "" {
				c.Argv, c.Env = []string{bin}, append(c.Env, "RALPH_FAILPOINT="+at)
			}
			if session != "" {
				c.Resume = &ralph.Earlier{Session: session}
			}
		})
	}
	c, err := start(point, "")
	if err != nil {
		return true // it was killed before there was a session, and nothing was said
	}
	_, err = c.Prompt(t.Context(), "Go.")
	died = err != nil
	_ = c.Close()
	files, err := filepath.Glob(filepath.Join(m.state, "*.jsonl"))
	check.OK(t, err)
	check.Equal(t, "conversations", 1, len(files))
	session := strings.TrimSuffix(filepath.Base(files[0]), ".jsonl")
	if torn > 0 && died {
		data, err := os.ReadFile(files[0])
		check.OK(t, err)
		last := strings.LastIndexByte(strings.TrimSuffix(string(data), "\n"), '\n') + 1
		check.OK(t, os.Truncate(files[0], max(int64(last), int64(len(data))-torn)))
	}
	if again != "" {
		if c, err := start(again, session); err == nil {
			_, _ = c.Prompt(t.Context(), "Go on.")
			_ = c.Close()
		}
	}
	c, err = start("", session)
	check.OK(t, err)
	check.That(t, c.About().Resumed, "the session is not known any more")
	c.ask(t, "Go on.")

	log, err := os.ReadFile(filepath.Join(dir, "log"))
	check.OK(t, err)
	asked := m.asked()
	unknown := 0
	for _, message := range asked[len(asked)-1].Messages {
		for _, b := range message.Blocks {
			if b.Kind != Result || b.Name == "read" {
				continue
			}
			what := b.ID
			ran := strings.Count(string(log), commands(asked[len(asked)-1], what)+"\n")
			if b.Name == "write" {
				ran = 1
				if _, err := os.Stat(filepath.Join(dir, "three")); err != nil {
					ran = 0
				}
			}
			switch {
			case strings.HasPrefix(b.Text, "unknown: "):
				unknown++
			case strings.HasPrefix(b.Text, "not run: "):
				check.Equal(t, "a call that was not run ran", 0, ran)
			default:
				check.That(t, ran == 1 && !b.Failed, "a call with the result %q ran %d times", b.Text, ran)
			}
			check.That(t, ran <= 1, "a call ran %d times", ran)
		}
	}
	check.That(t, unknown <= 2, "%d calls are unknown after two deaths", unknown)
	return died
}

// commands is the word that the call of an ID logs.
func commands(r Request, id string) string {
	for _, m := range r.Messages {
		for _, c := range callsOf(m) {
			if c.ID == id {
				_, word, _ := strings.Cut(string(c.Args), "echo ")
				word, _, _ = strings.Cut(word, " ")
				return word
			}
		}
	}
	return ""
}
