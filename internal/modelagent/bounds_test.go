package modelagent

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
)

// TestAnAnswerHasAnEnd: a model or server that goes on and on fills neither memory nor the conversation.
func TestAnAnswerHasAnEnd(t *testing.T) {
	t.Parallel()
	events := map[string]map[string]string{
		"anthropic": {
			"text":       `{"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"X"}}`,
			"thoughts":   `{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"X"}}`,
			"signatures": `{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"X"}}`,
			"blocks":     `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"X"}}`,
		},
		"openai": {
			"text":      `{"choices":[{"delta":{"content":"X"}}]}`,
			"thoughts":  `{"choices":[{"delta":{"reasoning_content":"X"}}]}`,
			"arguments": `{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"X"}}]}}]}`,
			"calls":     `{"choices":[{"delta":{"tool_calls":[{"index":1,"id":"","function":{"name":"X"}}]}}]}`,
		},
	}
	inDialects(t, func(t *testing.T, d dialect) {
		kinds := events[strings.TrimPrefix(t.Name(), "TestAnAnswerHasAnEnd/")]
		end := max(strings.Index(d.stream, "event: message_delta"), strings.Index(d.stream, `data: {"id":"c1","choices":[{"index":0,"delta":{},`))
		for name, event := range kinds {
			for size, n := range map[string]int{"pieces": 100_000, "a line": maxText + 1} {
				t.Run(name+" "+size, func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						line := "data: " + strings.Replace(event, "X", strings.Repeat("x", n), 1) + "\n\n"
						p := d.connect(piped(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
							play(w, d.stream[:end])
							for sent := 0; sent < 3*maxText; sent += n {
								if _, err := io.WriteString(w, line); err != nil {
									return
								}
							}
							play(w, d.stream[end:])
						})))
						_, err := p.Send(t.Context(), question("m"), ignore)
						if diff := cmp.Diff(error(&Failure{Kind: Bad, Text: "the answer is longer than 4 MB"}), err); diff != "" {
							t.Error(diff)
						}
					})
				})
			}
		}
	})
}

func TestCountsBelowZeroAreNone(t *testing.T) {
	t.Parallel()
	counts := strings.NewReplacer(`"output_tokens":42`, `"output_tokens":-42`, `"cache_read_input_tokens":200`, `"cache_read_input_tokens":-1`,
		`"completion_tokens":42`, `"completion_tokens":-42`, `"cached_tokens":200`, `"cached_tokens":-1`, `"cache_creation_input_tokens":30`, `"cache_creation_input_tokens":-1`)
	inDialects(t, func(t *testing.T, d dialect) {
		synctest.Test(t, func(t *testing.T) {
			p := d.connect(piped(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { play(w, counts.Replace(d.stream)) })))
			got, err := p.Send(t.Context(), question("m"), ignore)
			u := got.Usage
			if err != nil || u.Input <= 0 || u.CacheRead != 0 || u.CacheWrite != 0 || u.Output != 0 {
				t.Errorf("%v, %+v", err, u)
			}
		})
	})
}
