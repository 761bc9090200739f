package dag_test

import (
	"flag"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain is also the main of the worker processes that tests start.
func TestMain(m *testing.M) {
	if job := os.Getenv("RALPH_TEST_JOB"); job != "" {
		os.Exit(work(job, os.Getenv("RALPH_TEST_DB"), os.Getenv("RALPH_TEST_LEDGER")))
	}
	if raceDetector {
		_ = flag.Set("rapid.checks", "12")
	}
	goleak.VerifyTestMain(m)
}
