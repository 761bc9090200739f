package modelagent

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
)

func TestModelsAndTheirWindows(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		dialect string
		status  int
		body    string
		want    []Model
		fails   bool
	}{
		"Anthropic": {
			"anthropic", 200, `{"data":[{"id":"claude-b","max_input_tokens":1000000},{"id":"claude-a","type":"model"},{"id":"other"}],"has_more":false}`,
			[]Model{{"claude-b", 1_000_000}, {"claude-a", 200_000}, {"other", 0}},
			false,
		},
		"vLLM":             {"openai", 200, `{"data":[{"id":"qwen","max_model_len":32768,"created":"now"}]}`, []Model{{"qwen", 32768}}, false},
		"OpenRouter":       {"openai", 200, `{"data":[{"id":"x/y","context_length":131072,"pricing":{}}]}`, []Model{{"x/y", 131072}}, false},
		"Groq":             {"openai", 200, `{"data":[{"id":"l","context_window":8192}]}`, []Model{{"l", 8192}}, false},
		"llama.cpp":        {"openai", 200, `{"data":[{"id":"g.gguf","meta":{"n_ctx_train":4096}}]}`, []Model{{"g.gguf", 4096}}, false},
		"a known name":     {"openai", 200, `{"data":[{"id":"gpt-4o-mini"},{"id":"unknown","context_length":"many"}]}`, []Model{{"gpt-4o-mini", 128_000}, {"unknown", 0}}, false},
		"none":             {"openai", 200, `{"object":"list","data":[]}`, nil, false},
		"none, by Ollama":  {"openai", 200, `{"object":"list","data":null}`, nil, false},
		"no such list":     {"openai", 404, `not found`, nil, false},
		"another service":  {"openai", 200, `<html>`, nil, true},
		"another program":  {"openai", 200, `{"hello":1}`, nil, false},
		"a wrong key":      {"openai", 401, `{}`, nil, true},
		"Anthropic, a key": {"anthropic", 403, `{}`, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := dialects()[c.dialect].connect(piped(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.Method != http.MethodGet || !strings.HasSuffix(r.URL.Path, "/models") || r.Header.Get("X-Api-Key")+r.Header.Get("Authorization") == "" {
						t.Errorf("asked %s %s with %v", r.Method, r.URL, r.Header)
					}
					w.WriteHeader(c.status)
					_, _ = w.Write([]byte(c.body))
				})))
				got, err := p.Models(t.Context())
				if diff := cmp.Diff(c.want, got); diff != "" || (err != nil) != c.fails {
					t.Errorf("%v, %s", err, diff)
				}
			})
		})
	}
}

func TestOfOpenAIsOwnModelsTheBestForTalkComesFirst(t *testing.T) {
	t.Parallel()
	var list []listed
	for i, id := range []string{"gpt-4o", "text-embedding-3", "gpt-5-nano", "gpt-5", "whisper-1", "gpt-5.1", "gpt-5.1-2025-11-13", "gpt-image-1", "o3"} {
		list = append(list, listed{ID: id, Created: i})
	}
	var got []Model
	for _, l := range bestFirst(list) {
		got = append(got, Model{l.ID, l.window()})
	}
	want := []Model{{"gpt-5.1", 400_000}, {"gpt-5", 400_000}, {"o3", 200_000}, {"gpt-5.1-2025-11-13", 400_000}, {"gpt-5-nano", 400_000}, {"gpt-4o", 128_000}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestConnect(t *testing.T) {
	t.Parallel()
	var seen *http.Request
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = r
		_, _ = w.Write([]byte(`{"data":[]}`))
	}))
	t.Cleanup(server.Close)
	for name, c := range map[string]struct {
		provider string
		environ  []string
		path     string // that is asked for the models
		header   string
		value    string
		err      string
	}{
		"no key for Anthropic":       {provider: "anthropic", err: "there is no key for Anthropic: set ANTHROPIC_API_KEY"},
		"no key for OpenAI":          {provider: "openai", environ: []string{"OPENAI_API_KEY= "}, err: "there is no key for OpenAI: set OPENAI_API_KEY"},
		"no key for its own address": {provider: "openai", environ: []string{"OPENAI_BASE_URL=https://api.openai.com/"}, err: "there is no key for OpenAI: set OPENAI_API_KEY"},
		"an address that is none":    {provider: "local", environ: []string{"OPENAI_BASE_URL=box:8080"}, err: "OPENAI_BASE_URL cannot be used: a URL begins with http:// or https://, such as https://example.com/v1"},
		"no such provider":           {provider: "x", err: `there is no provider "x": choose anthropic, openai or local`},
		"a key": {
			"anthropic", []string{"ANTHROPIC_BASE_URL=URL", "ANTHROPIC_API_KEY=old", "ANTHROPIC_API_KEY=k1", "ANTHROPIC_AUTH_TOKEN=t"}, "/v1/models", "X-Api-Key", "k1", "",
		},
		"a token":                 {"anthropic", []string{"ANTHROPIC_BASE_URL=URL/v1/", "ANTHROPIC_AUTH_TOKEN=t1"}, "/v1/models", "Authorization", "Bearer t1", ""},
		"no key needed":           {"anthropic", []string{"ANTHROPIC_BASE_URL=URL/x"}, "/x/v1/models", "X-Api-Key", "", ""},
		"a key for OpenAI":        {"openai", []string{"OPENAI_BASE_URL=URL", "OPENAI_API_KEY=k2"}, "/v1/models", "Authorization", "Bearer k2", ""},
		"an own path":             {"openai", []string{"OPENAI_BASE_URL=URL/api/v3/"}, "/api/v3/models", "Authorization", "", ""},
		"local with an address":   {"local", []string{"OPENAI_BASE_URL=URL/v1", "OPENAI_API_KEY=k3"}, "/v1/models", "Authorization", "Bearer k3", ""},
		"local, found, no key":    {"local", []string{"OLLAMA_HOST=URL", "OPENAI_API_KEY=k4"}, "/v1/models", "Authorization", "", ""},
		"through a proxy":         {"openai", []string{"OPENAI_BASE_URL=http://model.test/v1", "http_proxy=URL"}, "/v1/models", "Authorization", "", ""},
		"without a proxy for one": {"openai", []string{"OPENAI_BASE_URL=URL", "HTTP_PROXY=http://127.0.0.1:1", "NO_PROXY=127.0.0.1"}, "/v1/models", "Authorization", "", ""},
	} {
		t.Run(name, func(t *testing.T) { // one after the other: they share the server
			var environ []string
			for _, entry := range c.environ {
				environ = append(environ, strings.Replace(entry, "=URL", "="+server.URL, 1))
			}
			p, err := Connect(t.Context(), c.provider, environ)
			if c.err != "" {
				var f *Failure
				if err == nil || err.Error() != c.err || c.provider != "x" && !errors.As(err, &f) || f != nil && f.Kind != NoKey && f.Kind != Bad {
					t.Errorf("got %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, err := p.Models(t.Context()); err != nil {
				t.Fatal(err)
			}
			if seen.URL.Path != c.path || seen.Header.Get(c.header) != c.value {
				t.Errorf("asked %s with %v", seen.URL, seen.Header)
			}
		})
	}
}

func TestALocalServerIsFound(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/models" || r.Header.Get("Authorization") == "Bearer found" {
			w.WriteHeader(http.StatusTeapot)
		}
		_, _ = w.Write([]byte(`{"object":"list","data":[{"id":"qwen3:8b"},{"id":"other"}]}`))
	}))
	t.Cleanup(server.Close)
	address, models, found := LocalServer(t.Context(), []string{"OLLAMA_HOST=" + strings.TrimPrefix(server.URL, "http://"), "OPENAI_API_KEY=found"})
	if want := []Model{{ID: "qwen3:8b"}, {ID: "other"}}; !found || address != server.URL+"/v1" || !cmp.Equal(models, want) {
		t.Errorf("got %s, %v, %v", address, models, found)
	}
	if _, _, found := LocalServer(t.Context(), []string{"OPENAI_BASE_URL=http://127.0.0.1:1"}); found {
		t.Error("found a server that is not there")
	}
}

// TestWhoLooksForALocalServerSaysHowLong: a person waits for a moment, work for longer.
func TestWhoLooksForALocalServerSaysHowLong(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	}))
	t.Cleanup(silent.Close)
	if _, _, found := LocalServer(ctx, []string{"OPENAI_BASE_URL=" + silent.URL}); found || Glance >= probing {
		t.Error("found a server that said nothing")
	}
}

func TestOllamaHost(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]string{
		"":              "http://127.0.0.1:11434/v1",
		"0.0.0.0":       "http://127.0.0.1:11434/v1",
		"0.0.0.0:8000":  "http://127.0.0.1:8000/v1",
		":8000":         "http://127.0.0.1:8000/v1",
		"[::]:8000":     "http://127.0.0.1:8000/v1",
		"[::1]":         "http://[::1]:11434/v1",
		"box":           "http://box:11434/v1",
		"box:1":         "http://box:1/v1",
		"http://box:1/": "http://box:1/v1",
		"http://box":    "http://box:80/v1",
		"https://box":   "https://box:443/v1",
	} {
		if got := ollamaAddress(host); got != want {
			t.Errorf("%q: got %s, want %s", host, got, want)
		}
	}
}
