package acp

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"ralph/internal/redact"
	"ralph/internal/testing/check"
	"ralph/internal/testing/fakeagent"
)

func TestSecretsAreRedacted(t *testing.T) {
	t.Parallel()
	const secret = `s3cr&t"key`
	b := newBench(t, say(
		step{Do: "stderr", Text: "using " + secret + "\n"},
		step{Do: "say", Text: "my key is " + secret},
		step{Do: "raw", Text: "garbage " + secret},
		step{Do: "error", Code: -32603, Text: "bad key " + secret, Data: []byte(`{"key":"s3cr\u0026t\"key"}`)},
	))
	b.cfg.Redact = redact.New(secret, "short")
	turn, err := b.prompt(t)
	e := wantKind(t, err, Refused)
	check.That(t, strings.Contains(textOf(turn), secret), "the text itself was changed: %q", textOf(turn))
	for name, text := range map[string]string{
		"transcript": b.transcript.String(), "stderr": b.stderr.String(), "error": e.Error(),
	} {
		for _, form := range []string{secret, `s3cr&t\"key`, `s3cr\u0026t\"key`} {
			check.That(t, !strings.Contains(text, form), "%s shows the secret: %s", name, text)
		}
		check.That(t, strings.Contains(text, redact.Placeholder), "%s: nothing redacted in %s", name, text)
	}
	b.checkTranscript(t)
}

// A secret that comes in pieces is nowhere half readable: chunks of a text are
// redacted as one text, for people and in the transcript.
func TestSecretInChunksIsRedacted(t *testing.T) {
	t.Parallel()
	const secret = "sk-0123456789abcdef"
	for _, chunk := range []int{1, 5, 7} {
		b := newBench(t, say(
			step{Do: "keep", Path: "prompt.txt"},
			step{Do: "think", Text: "I see " + secret + " here", Chunk: chunk},
			step{Do: "say", Text: "the key is sk-01234567"},
			step{Do: "usage", N: 10},
			step{Do: "say", Text: "89abcdef, and sk-0"},
			step{Do: "tool", Text: "use " + secret, Kind: "execute", Status: "failed"},
			step{Do: "plan", Text: "plan with " + secret},
			step{Do: "permission", Text: "may I use " + secret, Options: []fakeagent.Option{{ID: "1", Kind: "allow_once", Name: "yes"}}},
			step{Do: "say", Text: secret + " ends as sk-012", Chunk: chunk},
		))
		b.cfg.Redact = redact.New(secret)
		var mu sync.Mutex
		var said, thought, all strings.Builder
		b.cfg.Observe = func(e Event) {
			mu.Lock()
			defer mu.Unlock()
			switch e := e.(type) {
			case Text:
				said.WriteString(e.Text)
			case Thought:
				thought.WriteString(e.Text)
			}
			fmt.Fprintf(&all, "%+v", e)
		}
		s := b.start(t)
		turn, err := s.Prompt(t.Context(), "use "+secret)
		check.OK(t, err)
		check.OK(t, s.Close())
		<-s.observer.done
		check.That(t, strings.Contains(textOf(turn), secret), "the text itself was changed: %q", textOf(turn))
		if prompt, err := os.ReadFile(filepath.Join(b.cfg.Dir, "prompt.txt")); err != nil || string(prompt) != "use [redacted]" {
			t.Errorf("the prompt was %q, %v", prompt, err)
		}
		const want = "the key is [redacted], and sk-0[redacted] ends as sk-012"
		check.Equal(t, "said", want, said.String())
		check.Equal(t, "thought", "I see [redacted] here", thought.String())
		check.That(t, !strings.Contains(all.String(), secret[6:]), "an event shows the secret: %s", all.String())
		transcript := b.transcript.String()
		if strings.Contains(transcript, secret[6:]) || strings.Contains(transcript, "89abcdef") || strings.Count(transcript, redact.Placeholder) < 7 {
			t.Errorf("the transcript shows the secret, or too little: %s", transcript)
		}
		var kept strings.Builder
		for line := range strings.Lines(transcript) {
			var r struct{ Msg message }
			if json.Unmarshal([]byte(line), &r) == nil && r.Msg.Params.Update.What == "agent_message_chunk" {
				kept.WriteString(chunkText(r.Msg.Params.Update.Content))
			}
		}
		check.That(t, kept.String() == want, "the transcript has %q, want %q", kept.String(), want)
		b.checkTranscript(t)
	}
}

// What an agent reads and writes is its own: a file keeps the secret that is in it.
func TestFilesAndTerminalsKeepSecrets(t *testing.T) {
	t.Parallel()
	const secret = "sk-0123456789abcdef"
	b := newBench(t, say(
		step{Do: "write", Path: "key.txt", Text: "key=" + secret},
		step{Do: "read", Path: "key.txt"},
		step{Do: "terminal", Argv: []string{"cat", "key.txt"}},
	))
	b.cfg.Redact = redact.New(secret)
	b.must(t)
	data, err := os.ReadFile(filepath.Join(b.cfg.Dir, "key.txt"))
	check.That(t, err == nil && string(data) == "key="+secret, "the file has %q, %v", data, err)
	results := b.results(t)
	for name, got := range results {
		if !strings.HasPrefix(name, "write") && !strings.Contains(got, secret) && strings.Contains(got, "key") {
			t.Errorf("%s was answered %s", name, got)
		}
	}
	check.That(t, strings.Contains(results["read key.txt"], secret), "read: %v", results)
	check.That(t, !strings.Contains(b.transcript.String(), secret), "the transcript shows the secret: %s", b.transcript.String())
}
