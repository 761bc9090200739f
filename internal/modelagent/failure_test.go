package modelagent

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestRefusalsAreSorted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		header map[string]string
		body   string
		want   Failure
	}{
		"a wrong key": {
			status: 401, body: `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}`,
			want: Failure{Kind: NoKey, Text: "invalid x-api-key; check THE_KEY"},
		},
		"a key that a gateway repeats": {
			status: 403, body: `{"error":{"message":"key sk-secret-1234 is not allowed"}}`,
			want: Failure{Kind: NoKey, Text: "key [redacted] is not allowed; check THE_KEY"},
		},
		"an unknown model at Anthropic": {
			status: 404, body: `{"type":"error","error":{"type":"not_found_error","message":"model: claude-9"}}`,
			want: Failure{Kind: NoModel, Text: "model: claude-9"},
		},
		"an unknown model at OpenAI": {
			status: 403, body: `{"error":{"message":"Project has no access to it","type":"invalid_request_error","code":"model_not_found"}}`,
			want: Failure{Kind: NoModel, Text: "Project has no access to it"},
		},
		"an unknown model at Ollama": {
			status: 404, body: `{"error":"model \"x\" not found, try pulling it first"}`,
			want: Failure{Kind: NoModel, Text: `model "x" not found, try pulling it first`},
		},
		"a wrong address": {
			status: 404, body: `404 page not found`, want: Failure{Kind: Bad, Text: "404 page not found"},
		},
		"a prompt too long for Anthropic": {
			status: 400, body: `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`,
			want: Failure{Kind: TooLong, Text: "prompt is too long: 210000 tokens > 200000 maximum"},
		},
		"a prompt too long with its answer": {
			status: 400, body: `{"error":{"type":"invalid_request_error","message":"input length and max_tokens exceed context limit: 190000 + 16000 > 200000"}}`,
			want: Failure{Kind: TooLong, Text: "input length and max_tokens exceed context limit: 190000 + 16000 > 200000"},
		},
		"a prompt too long for OpenAI": {
			status: 400, body: `{"error":{"message":"Your input is very long","type":"invalid_request_error","code":"context_length_exceeded"}}`,
			want: Failure{Kind: TooLong, Text: "Your input is very long"},
		},
		"a prompt too long for llama.cpp": {
			status: 400, body: `{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error","n_ctx":4096}}`,
			want: Failure{Kind: TooLong, Text: "the request exceeds the available context size"},
		},
		"a body too large": {
			status: 413, body: `<html><body>nginx</body></html>`, want: Failure{Kind: TooLong, Text: "Request Entity Too Large"},
		},
		"a limit in seconds": {
			status: 429, header: map[string]string{"Retry-After": "20"}, body: `{"error":{"type":"rate_limit_error","message":"slow down"}}`,
			want: Failure{Kind: Limited, After: 20 * time.Second, Text: "slow down"},
		},
		"a limit as a date": {
			status: 429, header: map[string]string{"Retry-After": "Mon, 04 May 2026 12:00:30 GMT"}, body: `{}`,
			want: Failure{Kind: Limited, After: 30 * time.Second, Text: "{}"},
		},
		"a limit in milliseconds": {
			status: 429, header: map[string]string{"Retry-After-Ms": "1500"}, body: `{"error":{"message":"slow down"}}`,
			want: Failure{Kind: Limited, After: 1500 * time.Millisecond, Text: "slow down"},
		},
		"a limit that is over at a time": {
			status: 429, header: map[string]string{"anthropic-ratelimit-requests-reset": "2026-05-04T12:00:07Z"}, body: `{"error":{"message":"slow down"}}`,
			want: Failure{Kind: Limited, After: 7 * time.Second, Text: "slow down"},
		},
		"a limit in words": {
			status: 429, body: `{"error":{"message":"Rate limit reached for gpt-4o. Please try again in 6.5s.","code":"rate_limit_exceeded"}}`,
			want: Failure{Kind: Limited, After: 6500 * time.Millisecond, Text: "Rate limit reached for gpt-4o. Please try again in 6.5s."},
		},
		"no money": {
			status: 429, body: `{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}`,
			want: Failure{Kind: NoKey, Text: "You exceeded your current quota; pay for more, or use another key in THE_KEY"},
		},
		"no money at Anthropic": {
			status: 400, body: `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the API."}}`,
			want: Failure{Kind: NoKey, Text: "Your credit balance is too low to access the API.; pay for more, or use another key in THE_KEY"},
		},
		"no money at a gateway": {
			status: 402, body: `{"error":{"message":"Insufficient credits","code":402}}`,
			want: Failure{Kind: NoKey, Text: "Insufficient credits; pay for more, or use another key in THE_KEY"},
		},
		"a bill": {
			status: 403, body: `{"type":"error","error":{"type":"billing_error","message":"unpaid"}}`,
			want: Failure{Kind: NoKey, Text: "unpaid; pay for more, or use another key in THE_KEY"},
		},
		"a quota for a minute, in the same words": {
			status: 429, body: `{"error":{"message":"You exceeded your current quota, please check your plan and billing details","code":429,"status":"RESOURCE_EXHAUSTED"}}`,
			want: Failure{Kind: Limited, Text: "You exceeded your current quota, please check your plan and billing details"},
		},
		"an overload at Anthropic": {
			status: 529, body: `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, want: Failure{Kind: Overloaded, Text: "Overloaded"},
		},
		"an overload with a time": {
			status: 503, header: map[string]string{"Retry-After": "3"}, body: `busy`, want: Failure{Kind: Overloaded, After: 3 * time.Second, Text: "busy"},
		},
		"an error of the server":  {status: 500, want: Failure{Kind: Broken, Text: "Internal Server Error"}},
		"a gateway with a page":   {status: 502, body: "\n<!DOCTYPE html><html>…", want: Failure{Kind: Broken, Text: "Bad Gateway"}},
		"an unknown status":       {status: 599, body: "<", want: Failure{Kind: Broken, Text: "the server gave no reason"}},
		"a request that is wrong": {status: 422, body: `{"detail":"no such field"}`, want: Failure{Kind: Bad, Text: "no such field"}},
		"a body of a megabyte":    {status: 400, body: strings.Repeat("x\n", 1<<19), want: Failure{Kind: Bad, Text: strings.Repeat("x ", 148) + "x…"}},
		"an error without words":  {status: 400, body: `{"error":{"code":7}}`, want: Failure{Kind: Bad, Text: `{"error":{"code":7}}`}},
		"a redirect": {
			status: 308, header: map[string]string{"Location": "https://elsewhere.test/v1"},
			want: Failure{Kind: Bad, Text: "the server refers to https://elsewhere.test/v1; change THE_BASE_URL"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inDialects(t, func(t *testing.T, d dialect) {
				synctest.Test(t, func(t *testing.T) {
					asked := 0
					p := d.connect(piped(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
						asked++
						for name, value := range c.header {
							w.Header().Set(name, value)
						}
						w.WriteHeader(c.status)
						_, _ = w.Write([]byte(c.body))
					})))
					_, err := p.Send(t.Context(), question("m"), ignore)
					want := c.want
					want.Status = c.status
					var got *Failure
					if !errors.As(err, &got) || asked != 1 {
						t.Fatalf("asked %d times, got %v", asked, err)
					}
					if diff := cmp.Diff(want, *got); diff != "" {
						t.Error(diff)
					}
				})
			})
		})
	}
}

func TestErrorsInTheMidstOfAnAnswer(t *testing.T) {
	t.Parallel()
	event := func(kind, text string) string {
		return fmt.Sprintf("event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":%q,\"message\":%q}}\n\n", kind, text)
	}
	data := func(code any, text string) string {
		return fmt.Sprintf(": busy\n\nevent: error\ndata: {\"error\":{\"message\":%q,\"code\":%#v}}\n\n", text, code)
	}
	for name, c := range map[string]struct {
		dialect, end string
		want         Failure
	}{
		"anthropic, overloaded":  {"anthropic", event("overloaded_error", "Overloaded"), Failure{Kind: Overloaded, Status: 529, Text: "Overloaded"}},
		"anthropic, limited":     {"anthropic", event("rate_limit_error", "try again in 5s"), Failure{Kind: Limited, Status: 429, After: 5 * time.Second, Text: "try again in 5s"}},
		"anthropic, broken":      {"anthropic", event("api_error", "Internal"), Failure{Kind: Broken, Status: 500, Text: "Internal"}},
		"anthropic, too long":    {"anthropic", event("invalid_request_error", "prompt is too long"), Failure{Kind: TooLong, Status: 400, Text: "prompt is too long"}},
		"anthropic, no JSON":     {"anthropic", "event: error\ndata: oh\n\n", Failure{Kind: Broken, Status: 500, Text: "oh"}},
		"openai, overloaded":     {"openai", data("overloaded", "busy"), Failure{Kind: Overloaded, Status: 529, Text: "busy"}},
		"openai, limited":        {"openai", data(429, "slow down"), Failure{Kind: Limited, Status: 429, Text: "slow down"}},
		"openai, broken":         {"openai", data("server_error", "oh"), Failure{Kind: Broken, Status: 500, Text: "oh"}},
		"openai, too long":       {"openai", data("context_length_exceeded", "long"), Failure{Kind: TooLong, Status: 400, Text: "long"}},
		"openai, just text":      {"openai", "data: {\"error\":\"oh\"}\n\n", Failure{Kind: Broken, Status: 500, Text: "oh"}},
		"openai, an ended error": {"openai", "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"error\"}]}\n\n", Failure{Kind: Broken, Text: "the provider's answer broke off"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d := dialects()[c.dialect]
				begun := strings.Join(strings.SplitAfter(d.stream, "\n\n")[:5], "")
				p := d.connect(piped(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { play(w, begun+c.end) })))
				got, err := p.Send(t.Context(), question("m"), ignore)
				var f *Failure
				if !errors.As(err, &f) {
					t.Fatalf("got %+v, %v", got, err)
				}
				if diff := cmp.Diff(c.want, *f); diff != "" || !cmp.Equal(got, Reply{}) {
					t.Errorf("%+v, %s", got, diff)
				}
			})
		})
	}
}

func TestAServerThatIsNotThere(t *testing.T) {
	t.Parallel()
	const address = "http://127.0.0.1:1" // a port that nothing uses
	inDialects(t, func(t *testing.T, d dialect) {
		p := d.connect(newWire(getenv(nil), address+"/a-secret-path", "THE_KEY", "THE_BASE_URL"))
		_, err := p.Send(t.Context(), question("m"), ignore)
		var f *Failure
		if !errors.As(err, &f) || f.Kind != Broken || f.Status != 0 ||
			!strings.HasPrefix(f.Text, "no server answers at "+address+": ") || !strings.HasSuffix(f.Text, "; start it, or check THE_BASE_URL") {
			t.Errorf("got %v", err)
		}
		if _, err := p.Models(t.Context()); !errors.As(err, &f) || f.Kind != Broken {
			t.Errorf("models: %v", err)
		}
	})
}

func TestAServerThatIsSilent(t *testing.T) {
	t.Parallel()
	inDialects(t, func(t *testing.T, d dialect) {
		for name, said := range map[string]string{"from the start": "", "in the midst": d.stream[:700]} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					p := d.connect(piped(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						if said != "" {
							play(w, said)
							w.(http.Flusher).Flush()
						}
						<-r.Context().Done()
					})))
					began := time.Now()
					got, err := p.Send(t.Context(), question("m"), ignore)
					want := &Failure{Kind: Broken, Text: "the provider sent nothing for 5m"}
					if diff := cmp.Diff(want, err); diff != "" || !cmp.Equal(got, Reply{}) || time.Since(began) != silence {
						t.Errorf("after %s: %+v, %s", time.Since(began), got, diff)
					}
				})
			})
		}
	})
}

func TestASlowServerIsNotSilent(t *testing.T) {
	t.Parallel()
	inDialects(t, func(t *testing.T, d dialect) {
		synctest.Test(t, func(t *testing.T) {
			p := d.connect(piped(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				for event := range strings.SplitSeq(strings.TrimSpace(d.stream), "\n\n") {
					time.Sleep(silence - time.Second)
					play(w, event+"\n\n")
					w.(http.Flusher).Flush()
				}
			})))
			got, err := p.Send(t.Context(), question("m"), ignore)
			if diff := cmp.Diff(d.whole, got); err != nil || diff != "" {
				t.Errorf("%v, %s", err, diff)
			}
		})
	})
}

func TestACallerThatGivesUp(t *testing.T) {
	t.Parallel()
	inDialects(t, func(t *testing.T, d dialect) {
		synctest.Test(t, func(t *testing.T) {
			p := d.connect(piped(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				play(w, d.stream[:700])
				w.(http.Flusher).Flush()
				<-r.Context().Done()
			})))
			gone := errors.New("gone")
			ctx, cancel := context.WithCancelCause(t.Context())
			if _, err := ask(ctx, p, question("m"), func(string) { cancel(gone) }, ignore); !errors.Is(err, gone) {
				t.Errorf("got %v", err)
			}
		})
	})
}

func TestAProxyIsNamed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ address, variable, want string }{
		"to a vendor":    {anthropicAddress, "HTTPS_PROXY", "no server answers at https://api.anthropic.com through the proxy 127.0.0.1:1: "},
		"to a server":    {"http://model.test/v1", "http_proxy", "no server answers at http://model.test through the proxy 127.0.0.1:1: "},
		"of the sandbox": {"http://127.0.0.1:2/v1", "RALPH_PROXY", "no server answers at http://127.0.0.1:2 through the proxy 127.0.0.1:1: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWire(getenv([]string{c.variable + "=http://127.0.0.1:1"}), c.address, "THE_KEY", "THE_BASE_URL")
			_, err := newOpenAI(w, "").Send(t.Context(), question("m"), ignore)
			if err == nil || !strings.HasPrefix(err.Error(), c.want) || !strings.HasSuffix(err.Error(), "; check "+c.variable) {
				t.Errorf("got %v", err)
			}
			f := w.failure(http.StatusProxyAuthRequired, nil, nil)
			if want := "the proxy 127.0.0.1:1 wants a name and a password; put them into " + c.variable; f.Kind != Bad || f.Text != want {
				t.Errorf("got %v", f)
			}
			f = w.failure(http.StatusForbidden, nil, []byte("ralph's proxy refuses \"x:1\": it is not in [sandbox.network] hosts\n"))
			if f.Kind != Bad || strings.Contains(f.Text, "KEY") || !strings.HasPrefix(f.Text, "ralph's proxy refuses") {
				t.Errorf("got %v", f)
			}
		})
	}
}

func TestAnAddressOnThisMachineNeedsNoScheme(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"127.0.0.1:18080": "http://127.0.0.1:18080", "localhost:1/v1": "http://localhost:1/v1", "[::1]:1": "http://[::1]:1",
		"api.example.com": "api.example.com", "https://localhost": "https://localhost", "": "",
	} {
		if got := withScheme(address); got != want {
			t.Errorf("%q: got %q", address, got)
		}
	}
}
