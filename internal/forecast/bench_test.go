package forecast_test

import (
	"fmt"
	"testing"

	"ralph/internal/forecast"
)

// BenchmarkRun is what docs/dev/performance.md says about forecasts: a graph in layers, and a past of as many tasks as are read.
func BenchmarkRun(b *testing.B) {
	var past []forecast.Past
	for i := range 2000 {
		past = append(past, pasts(1+i%97)...)
	}
	for _, size := range []int{100, 1000, 10_000} {
		list := nodes(size)
		for i := range list {
			list[i].ID = fmt.Sprint(i)
			if i >= 50 {
				list[i].After = []int{i - 50, i - 49}
			}
		}
		for _, locks := range []int{0, 20} {
			in := forecast.Input{Past: past, Nodes: list, Workers: 8, KeepGoing: true}
			name := fmt.Sprintf("tasks=%d", size)
			if locks > 0 {
				name += fmt.Sprintf("/locks=%d", locks)
				for l := range locks {
					in.Locks = append(in.Locks, forecast.Lock{Limit: 1, Excludes: []int{l}})
				}
				in.Nodes = append([]forecast.Node{}, list...)
				for i := range in.Nodes {
					in.Nodes[i].Locks = []int{i % locks}
				}
			}
			b.Run(name, func(b *testing.B) {
				for b.Loop() {
					b.ReportMetric(float64(forecast.Run(in).Draws), "draws")
				}
			})
		}
	}
}
