package human

import (
	"testing"
	"time"

	"ralph/internal/testing/check"
)

func TestAmountsAreSaidAsPeopleSayThem(t *testing.T) {
	t.Parallel()
	for want, got := range map[string]string{
		"0s":                Span(-time.Second),
		"340ms":             Span(340*time.Millisecond + time.Microsecond),
		"59s":               Span(59*time.Second + 999*time.Millisecond),
		"1m20s":             Span(80 * time.Second),
		"2m05s":             Span(125 * time.Second),
		"26h05m":            Span(26*time.Hour + 5*time.Minute + 59*time.Second),
		"3d4h":              Span(76*time.Hour + 59*time.Minute),
		"$0.00":             Dollars(0),
		"less than $0.0001": Dollars(0.00004),
		"$0.0040":           Dollars(0.004),
		"$0.05":             Dollars(0.05),
		"$12.35":            Dollars(12.345678),
		"":                  Roughly(false, false),
		"at least about ":   Roughly(true, true),
		"1 byte":            Bytes(1),
		"1023 bytes":        Bytes(1023),
		"12 KiB":            Bytes(12<<10 + 1),
		"1.5 MiB":           Bytes(3 << 19),
		"20.0 GiB":          Bytes(20 << 30),
		"999":               Thousands(999),
		"1,000":             Thousands(1000),
		"-123,456":          Thousands(-123_456),
		"12,345,678":        Thousands(12_345_678),
		"1 token":           Tokens(1),
		"0 tokens":          Tokens(0),
		"12,000 tokens":     Tokens(12_000),
		"1 file":            Count(1, "file"),
		"0 files":           Count(0, "file"),
		"3 tries":           Count(3, "try"),
		"2 days":            Count(2, "day"),
		"4 processes":       Count(4, "process"),
	} {
		check.That(t, got == want, "got %q, want %q", got, want)
	}
}

func TestInOutSaysWhatIsUnknown(t *testing.T) {
	t.Parallel()
	for want, in := range map[string][3]int64{
		"":                                   {},
		"1,900 tokens in, out unknown":       {1900, 0, 0},
		"1,900 tokens in, 30 cached, 50 out": {1900, 30, 50},
		"tokens in unknown, 50 out":          {0, 0, 50},
		"tokens in unknown, 7 cached, out unknown": {0, 7, 0},
	} {
		check.Equal(t, "InOut", want, InOut(in[0], in[1], in[2]))
	}
}

func TestWhatIsMissingLeavesNoTraceInASentence(t *testing.T) {
	t.Parallel()
	check.Equal(t, "parts", []string{"a", "b"}, Parts("", "a", Some(0, "file"), "b", Lead("by ", "")))
	check.Equal(t, "what is there", []string{"1 file", "2 files", "by me"}, Parts(Some(1, "file"), Some(2, "file"), Lead("by ", "me")))
}
