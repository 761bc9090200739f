package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fingerprint is of what the tests were passed with: the pinned versions and
// package acp without its own tests.
func fingerprint(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob("../acp/*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files of package acp: %v", err)
	}
	sum := sha256.New()
	for _, name := range append([]string{"pins.txt"}, files...) {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(sum, name+"\n")
		_, _ = sum.Write(data)
	}
	return hex.EncodeToString(sum.Sum(nil))
}
