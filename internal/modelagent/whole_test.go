package modelagent

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
)

// TestAServerThatDoesNotStream is asked once, whatever it says.
func TestAServerThatDoesNotStream(t *testing.T) {
	t.Parallel()
	wholes := map[string]string{
		"anthropic": `{"type":"message","content":[{"type":"thinking","thinking":"Hm, well.","signature":"c2ln"},{"type":"redacted_thinking","data":"c2VjcmV0"},{"type":"text","text":"I look – now."},
{"type":"tool_use","id":"toolu_1","name":"read","input":{"path":"a.go"}}],"stop_reason":"tool_use",
"usage":{"input_tokens":11,"cache_read_input_tokens":200,"cache_creation_input_tokens":30,"output_tokens":42}}`,
		"openai": `{"choices":[{"index":0,"message":{"role":"assistant","content":"I look – now.","tool_calls":[
{"id":"call_1","type":"function","function":{"name":"read","arguments":"{\"path\":\"a.go\"}"}}]},"finish_reason":"tool_calls"}],
"usage":{"prompt_tokens":211,"completion_tokens":42,"prompt_tokens_details":{"cached_tokens":200}}}`,
	}
	inDialects(t, func(t *testing.T, d dialect) {
		for name, c := range map[string]struct {
			media, body string
			want        error
		}{
			"a whole answer": {"application/json", wholes[strings.TrimPrefix(t.Name(), "TestAServerThatDoesNotStream/")], nil},
			"an error":       {"application/json", `{"error":{"message":"no luck"}}`, &Failure{Kind: Bad, Status: 400, Text: "no luck"}},
			"a limit":        {"application/json", `{"error":{"message":"slow","type":"rate_limit_error"}}`, &Failure{Kind: Limited, Status: 429, Text: "slow"}},
			"something else": {"application/json", `{"hello":1}`, &Failure{Kind: Bad, Text: "http://model.test answers with something that is no answer of a model; check THE_BASE_URL"}},
			"a web page":     {"text/html; charset=utf-8", "<html>", &Failure{Kind: Bad, Text: "http://model.test answers with a web page; check THE_BASE_URL"}},
			"very much":      {"application/json", `{"a":"` + strings.Repeat("x", maxText), &Failure{Kind: Bad, Text: "the answer is longer than 4 MB"}},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					p := d.connect(piped(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
						w.Header().Set("Content-Type", c.media)
						_, _ = w.Write([]byte(c.body))
					})))
					got, err := p.Send(t.Context(), question("m"), ignore)
					want := d.whole
					if c.want != nil {
						want = Reply{}
					}
					if diff := cmp.Diff(c.want, err) + cmp.Diff(want, got); diff != "" {
						t.Error(diff)
					}
				})
			})
		}
	})
}
