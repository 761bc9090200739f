package modelagent

import (
	"os"
	"testing"

	"ralph/internal/proc"
)

func TestMain(m *testing.M) {
	proc.RunHelper(nil)
	os.Exit(m.Run())
}
