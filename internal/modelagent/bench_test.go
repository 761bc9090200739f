package modelagent

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	acp "github.com/coder/acp-go-sdk"

	"ralph/internal/testing/check"
)

// instant is a model that reads a file for ever.
type instant struct{ n int }

func (p *instant) Send(context.Context, Request, func(string)) (Reply, error) {
	p.n++
	a := calls("read", `{"path":"a"}`)
	if p.n%100 == 0 {
		a = says("ok")
	}
	a.Reply.Usage = Usage{Input: 100, Output: 10}
	return a.Reply, nil
}

func (*instant) Models(context.Context) ([]Model, error) {
	return []Model{{ID: "instant", Window: 1_000_000}}, nil
}

// BenchmarkRequest is what the agent itself takes for each request of a turn, in a conversation of hundreds: a turn of
// 100 requests is one operation.
func BenchmarkRequest(b *testing.B) {
	fromClient, toAgent := io.Pipe()
	fromAgent, toClient := io.Pipe()
	served := make(chan error, 1)
	go func() {
		served <- Serve(context.WithoutCancel(b.Context()), fromClient, toClient, Options{Provider: &instant{}, State: b.TempDir(), Environ: os.Environ(), Pick: pickOffered})
	}()
	conn := acp.NewClientSideConnection(mute{}, toAgent, fromAgent)
	dir := b.TempDir()
	check.OK(b, os.WriteFile(filepath.Join(dir, "a"), fmt.Appendf(nil, "%01000d", 1), 0o600))
	s, err := conn.NewSession(b.Context(), acp.NewSessionRequest{Cwd: dir, McpServers: []acp.McpServer{}})
	check.OK(b, err)
	for b.Loop() {
		_, err := conn.Prompt(b.Context(), acp.PromptRequest{SessionId: s.SessionId, Prompt: []acp.ContentBlock{acp.TextBlock("Go.")}})
		check.OK(b, err)
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/100, "µs/request")
	_ = toAgent.Close()
	check.OK(b, <-served)
	_ = toClient.Close()
	<-conn.Done()
}
