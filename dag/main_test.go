package dag_test

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain is also the main of the worker processes that tests start.
func TestMain(m *testing.M) {
	if job := os.Getenv("RALPH_TEST_JOB"); job != "" {
		if err := work(job, os.Getenv("RALPH_TEST_DB"), os.Getenv("RALPH_TEST_LEDGER")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}
