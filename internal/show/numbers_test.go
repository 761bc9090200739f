package show

import (
	"testing"
	"time"
)

func TestNumbersAsPeopleSayThem(t *testing.T) {
	t.Parallel()
	for want, got := range map[string]string{
		"0s":              span(-time.Second),
		"340ms":           span(340 * time.Millisecond),
		"59s":             span(59*time.Second + 999*time.Millisecond),
		"1m20s":           span(80 * time.Second),
		"26h5m":           span(26*time.Hour + 5*time.Minute + 59*time.Second),
		"999":             thousands(999),
		"1,000":           thousands(1000),
		"-123,456":        thousands(-123_456),
		"12,345,678":      thousands(12_345_678),
		"less than $0.01": dollars(0.004),
		"$0.00":           dollars(0),
		"$12.35":          dollars(12.345678),
		"1 file":          count(1, "file", "files"),
		"0 files":         count(0, "file", "files"),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
