// Command memserver is a Temporal server in memory. It prints its address and its namespace and serves until stdin ends.
package main

import (
	"fmt"
	"io"
	"os"

	"go.temporal.io/server/temporaltest"
)

func main() {
	s := temporaltest.NewServer()
	defer s.Stop()
	fmt.Println(s.GetFrontendHostPort(), s.GetDefaultNamespace())
	_, _ = io.Copy(io.Discard, os.Stdin)
}
