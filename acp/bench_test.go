package acp

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"ralph/internal/testing/check"
)

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
