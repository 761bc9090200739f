package acp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"ralph/internal/proc"
	"ralph/internal/testing/check"
	"ralph/internal/testing/fakeagent"
)

func ralphTurn(cfg Config) error {
	s, err := Start(context.Background(), cfg)
	if err != nil {
		return err
	}
	_, err = s.Prompt(context.Background(), "x")
	if closeErr := s.Close(); err == nil {
		err = closeErr
	}
	return err
}

// bareTurn is one prompt with a plain SDK client and a plain process: what any client
// needs at least.
func bareTurn(ctx context.Context, cfg Config) error {
	cmd := exec.CommandContext(ctx, cfg.Argv[0])
	cmd.Env, cmd.Dir = cfg.Env, cfg.Dir
	stdin, err1 := cmd.StdinPipe()
	stdout, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		return err
	}
	conn := sdk.NewClientSideConnection(bareClient{}, stdin, stdout)
	_, err1 = conn.Initialize(ctx, sdk.InitializeRequest{ProtocolVersion: sdk.ProtocolVersionNumber})
	session, err2 := conn.NewSession(ctx, sdk.NewSessionRequest{Cwd: cfg.Dir, McpServers: []sdk.McpServer{}})
	_, err3 := conn.Prompt(ctx, sdk.PromptRequest{SessionId: session.SessionId, Prompt: []sdk.ContentBlock{sdk.TextBlock("x")}})
	stdin.Close()
	<-conn.Done()
	return errors.Join(err1, err2, err3, cmd.Wait())
}

// bareClient is what the SDK needs from a client that does nothing.
type bareClient struct{ sdk.Client }

func (bareClient) SessionUpdate(context.Context, sdk.SessionNotification) error { return nil }

// BenchmarkSession prints how much longer a whole session takes than with a
// bare SDK client, from spawn to nothing left. The two take turns, so that both
// see the same machine.
func BenchmarkSession(b *testing.B) {
	cfg := newBench(b, fakeagent.Script{}).cfg
	cfg.Grace = DefaultGrace
	cfg.Launcher = &proc.Launcher{Owner: "bench"}
	defer cfg.Launcher.Close()
	cfg.Launcher.Warm()
	var bare, ours time.Duration
	for b.Loop() {
		start := time.Now()
		check.OK(b, bareTurn(b.Context(), cfg))
		middle := time.Now()
		check.OK(b, ralphTurn(cfg))
		bare += middle.Sub(start)
		ours += time.Since(middle)
	}
	b.ReportMetric(float64(ours)/float64(bare), "x-bare")
	b.ReportMetric(float64(bare.Microseconds())/1000/float64(b.N), "bare-ms")
	b.ReportMetric(float64(ours.Microseconds())/1000/float64(b.N), "ours-ms")
}

// BenchmarkUpdates prints how many small updates a second arrive, the agent's
// own work included, with the transcript on disk.
func BenchmarkUpdates(b *testing.B) {
	const size = 20_000
	bench := newBench(b, say(step{Do: "flood", N: size, Text: "w "}))
	file, err := os.Create(b.TempDir() + "/transcript.jsonl")
	check.OK(b, err)
	defer file.Close()
	bench.cfg.Transcript = file
	bench.cfg.Observe = func(Event) {}
	s := bench.start(b)
	start := time.Now()
	for b.Loop() {
		if turn, err := s.Prompt(context.Background(), "x"); err != nil || turn.Empty() {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*size/time.Since(start).Seconds(), "updates/s")
}

// BenchmarkFiftyAgents prints what fifty sessions at once cost us in memory.
func BenchmarkFiftyAgents(b *testing.B) {
	const agents = 50
	bench := newBench(b, say(step{Do: "say", Text: "hello"}))
	bench.cfg.Transcript, bench.cfg.Stderr = nil, nil
	bench.cfg.Observe = func(Event) {}
	for b.Loop() {
		before := residentMB()
		var all []*Session
		for range agents {
			s, err := Start(context.Background(), bench.cfg)
			check.OK(b, err)
			if _, err := s.Prompt(context.Background(), "x"); err != nil {
				b.Fatal(err)
			}
			all = append(all, s)
		}
		heap := heapMB()
		b.ReportMetric((residentMB()-before)/agents, "rss-MB/agent")
		b.ReportMetric(heap/agents, "heap-MB/agent")
		for _, s := range all {
			check.OK(b, s.Close())
		}
	}
}

func heapMB() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc) / (1 << 20)
}

func residentMB() float64 {
	runtime.GC()
	raw, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	var size, resident float64
	fmt.Sscan(string(raw), &size, &resident)
	return resident * float64(os.Getpagesize()) / (1 << 20)
}
