package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"ralph/internal/sandbox"
	"ralph/internal/testing/check"
	"ralph/internal/testing/fakeagent"
)

// TestAgentsReachTheHostsThatAreListed, encrypted or not, by the agent's own process as by its commands, and nothing else; what was refused is said
// once for each host.
func TestAgentsReachTheHostsThatAreListed(t *testing.T) {
	t.Parallel()
	if sandbox.Detect(sandbox.Namespaces).Level != sandbox.Namespaces {
		t.Skip("no namespaces on this machine")
	}
	hello := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "hello from "+r.Host) })
	plain, encrypted, other := httptest.NewServer(hello), httptest.NewTLSServer(hello), httptest.NewServer(hello)
	defer plain.Close()
	defer encrypted.Close()
	defer other.Close()
	host := func(s *httptest.Server) string { return s.Listener.Addr().String() }
	p := newPlace(t, fakeagent.Script{}, fmt.Sprintf(`[sandbox.network]
hosts = [%q, %q, "*.example.com"]
`, host(plain), host(encrypted)))
	p.imports(toJSON(t, map[string]any{
		"ref": "t-00000001", "title": "fetch", "agent": "shell",
		"description": fmt.Sprintf("```sh\nfetch %s %s %s %s https://%s/ > fetched\nHTTPS_PROXY= fetch %s > direct\n```", plain.URL, encrypted.URL, other.URL, other.URL, host(other), plain.URL),
	}))
	out := p.want(0, "run", "--agent", "shell")
	out.inStderr("agents reach only "+host(plain)+", "+host(encrypted)+", *.example.com", "the network: no way to ")
	refused := fmt.Sprintf("ralph's proxy refuses %q: it is not in [sandbox.network] hosts", host(other))
	check.Equal(t, "fetched", fmt.Sprintf("200 hello from %s <nil>\n200 hello from %s <nil>\n403 %s <nil>\n403 %s <nil>\nerror: Get \"https://%s/\": Forbidden\n",
		host(plain), host(encrypted), refused, refused, host(other)), p.read("fetched"))
	check.That(t, strings.HasPrefix(p.read("direct"), "error: "), "there is a way around the proxy: %s", p.read("direct"))
	check.Equal(t, "said", 1, strings.Count(out.stderr, host(other)))

	// Who was not seen to use a proxy is refused before anything runs.
	p.want(64, "run", "--agent", "fake").inStderr("sandbox.network.hosts: fake was not seen to send its requests through a proxy", "proxy = true in [agents.fake]")
	p.env = append(p.env, confinableEnv+"=landlock")
	p.plan("two")
	p.want(0, "run", "--agent", "fake").inStderr("agents reach every host, because a list of hosts needs namespaces")
}

func toJSON(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	check.OK(t, err)
	return string(data) + "\n"
}
