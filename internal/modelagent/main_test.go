package modelagent

import (
	"os"
	"testing"

	"ralph/internal/proc"
)

// serveVariable makes the test binary an MCP server.
const serveVariable = "MODELAGENT_TEST_SERVE"

func TestMain(m *testing.M) {
	proc.RunHelper(nil)
	if how := os.Getenv(serveVariable); how != "" {
		serveMCP(how)
		return
	}
	if os.Getenv(beAgent) != "" {
		serveTest()
		return
	}
	os.Exit(m.Run())
}
