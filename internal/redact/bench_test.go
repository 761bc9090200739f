package redact_test

import (
	"strings"
	"testing"

	"ralph/internal/redact"
)

// BenchmarkRedact is what a run does with all that agents and gates print.
func BenchmarkRedact(b *testing.B) {
	text := strings.Repeat("The tests of package risk-report pass again; ok ralph/internal/risk 0.012s, and `git log --oneline` shows three commits. Asking disks.\n", 2000)
	for name, r := range map[string]*redact.Redactor{
		"no value":  redact.New(),
		"12 values": redact.New(strings.Fields("sk-ant-0123456789 ghp_0123456789 npm_0123456789 wJ/K7&x+0123456789 p4ssw0rd-1 p4ssw0rd-2 aws_012345 dkjfhg87345 73465873465 zzzzzzzzz1 qwertyuiop correct-horse")...),
	} {
		b.Run(name+", whole", func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				r.Text(text)
			}
		})
		for _, size := range []int{8, 32 << 10} {
			b.Run(name+", in pieces of "+map[int]string{8: "8 B", 32 << 10: "32 KiB"}[size], func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					s := r.Stream()
					for rest := text; rest != ""; rest = rest[min(size, len(rest)):] {
						s.Push(rest[:min(size, len(rest))])
					}
					s.Flush()
				}
			})
		}
	}
}
