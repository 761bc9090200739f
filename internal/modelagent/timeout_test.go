package modelagent

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"ralph/internal/testing/check"
)

// TestToolsTimeOut has calls that never get an answer. Their time is shortened, so that the test ends.
func TestToolsTimeOut(t *testing.T) {
	t.Parallel()
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer silent.Close()
	b, warnings := withServers(t, stdio("docs", "well"))
	check.Equal(t, "warnings", []string(nil), warnings)
	for name, test := range map[string]struct {
		timeout time.Duration
		args    string
	}{
		"fetch":           {30 * time.Second, arguments("url", silent.URL)},
		"mcp__docs__hang": {10 * time.Minute, arguments("text", filepath.Join(t.TempDir(), "begun"))},
	} {
		for i := range b.tools {
			if b.tools[i].Name == name {
				check.Equal(t, name, test.timeout, b.tools[i].timeout)
				b.tools[i].timeout = time.Second
			}
		}
		r := call(t, b, name, test.args)
		check.Equal(t, name, "timed out after 1 s", r.Text)
		check.That(t, r.Failed, "%s did not fail", name)
	}
}
