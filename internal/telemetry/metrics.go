package telemetry

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"ralph/internal/event"
	"ralph/internal/human"
)

// Metrics keeps numbers of a run and writes all of them, as Prometheus reads them
// from a file, whenever a run begins or ends, a task is claimed or an attempt ends.
type Metrics struct {
	write func([]byte) error // replaces the file, whole or not at all

	mu      sync.Mutex
	tasks   event.Counts
	running int
	values  map[string]map[string]float64 // by name and labels
	err     error
}

// NewMetrics returns metrics of nothing yet.
func NewMetrics(write func([]byte) error) *Metrics {
	m := &Metrics{write: write, values: map[string]map[string]float64{}}
	m.set("ralph_run_started_timestamp_seconds", 0)
	m.set("ralph_run_ended", 0)
	return m
}

// Close returns the error of the last write.
func (m *Metrics) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.err
}

// Event counts an event.
func (m *Metrics) Event(e event.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := float64(e.At.UnixMilli()) / 1000
	m.set("ralph_run_updated_timestamp_seconds", at)
	switch e.Type {
	case event.RunStarted:
		m.set("ralph_run_started_timestamp_seconds", at)
		scope := ""
		if e.Setup != nil {
			scope = e.Setup.Scope
		}
		m.set("ralph_run_info", 1, "run", e.Run, "scope", scope)
	case event.TaskClaimed:
		m.running++
	case event.AttemptEnded:
		m.ended(e)
	case event.RunEnded:
		m.running = 0
		m.set("ralph_run_ended", 1)
		m.set("ralph_run_outcome", 1, "outcome", e.Outcome)
	case event.GateEnded:
		if e.Reason == "" { // a reason: it is not about the work
			m.add("ralph_gate_runs_total", 1, "verdict", string(e.Gate.Verdict))
		}
	case event.VerifierEnded:
		m.add("ralph_verdicts_total", 1, "verdict", e.Outcome)
	case event.AgentTool:
		if e.Tool.New {
			m.add("ralph_tool_calls_total", 1, "kind", kindOf(e.Tool.Kind))
		}
	case event.Warned:
		m.add("ralph_warnings_total", 1)
	case event.Waiting:
		m.add("ralph_waits_total", 1)
	}
	if e.Counts != nil {
		m.tasks = *e.Counts
	}
	switch e.Type {
	case event.RunStarted, event.TaskClaimed, event.AttemptEnded, event.RunEnded, event.Waiting:
		m.set("ralph_attempts_running", float64(m.running))
		for status, n := range map[string]int{"done": m.tasks.Done, "failed": m.tasks.Failed, "remaining": m.tasks.Remaining} {
			m.set("ralph_tasks", float64(n), "status", status)
		}
		m.err = m.write([]byte(m.text()))
	}
}

// ended counts an attempt. What it made of its task is known before the next claim
// counts all of them.
func (m *Metrics) ended(e event.Event) {
	m.running = max(m.running-1, 0)
	who := []string{"agent", e.Agent, "model", e.Model}
	m.add("ralph_attempts_total", 1, append(slices.Clone(who), "outcome", e.Outcome)...)
	m.add("ralph_attempt_duration_seconds_sum", float64(e.Duration)/1000, who...)
	m.add("ralph_attempt_duration_seconds_count", 1, who...)
	if u := e.Usage; u != nil {
		for _, t := range tokensOf(u) {
			m.add("ralph_tokens_total", float64(t.n), append(slices.Clone(who), "kind", t.kind)...)
		}
		if u.CostUSD != nil {
			m.add("ralph_cost_usd_total", *u.CostUSD, who...)
		}
		if u.Unknown {
			m.add("ralph_cost_unknown_attempts_total", 1, who...)
		}
	}
	switch e.Status {
	case event.TaskDone:
		m.tasks.Done++
		m.tasks.Remaining = max(m.tasks.Remaining-1, 0)
	case event.TaskFailed:
		m.tasks.Failed++
		m.tasks.Remaining = max(m.tasks.Remaining-1, 0)
	}
}

// kindOf keeps an agent from making up as many series as it likes.
func kindOf(kind string) string {
	if slices.Contains([]string{"read", "edit", "delete", "move", "search", "execute", "think", "fetch"}, kind) {
		return kind
	}
	return "other"
}

func (m *Metrics) add(name string, v float64, pairs ...string) {
	m.set(name, m.values[name][labels(pairs...)]+v, pairs...)
}

func (m *Metrics) set(name string, v float64, pairs ...string) {
	if m.values[name] == nil {
		m.values[name] = map[string]float64{}
	}
	m.values[name][labels(pairs...)] = v
}

var families = []struct{ name, kind, help string }{
	{"ralph_run_info", "gauge", "The run that these metrics describe."},
	{"ralph_run_started_timestamp_seconds", "gauge", "When it began."},
	{"ralph_run_updated_timestamp_seconds", "gauge", "When something happened last."},
	{"ralph_run_ended", "gauge", "Whether it is over."},
	{"ralph_run_outcome", "gauge", "How it ended; absent before."},
	{"ralph_tasks", "gauge", "Tasks in scope by status."},
	{"ralph_attempts_running", "gauge", "Attempts that are running."},
	{"ralph_attempts_total", "counter", "Attempts that have ended."},
	{"ralph_attempt_duration_seconds", "summary", "How long attempts took."},
	{"ralph_tokens_total", "counter", "Tokens, as agents report them."},
	{"ralph_cost_usd_total", "counter", "Cost in dollars, as agents report it."},
	{"ralph_cost_unknown_attempts_total", "counter", "Attempts whose cost is unknown in part."},
	{"ralph_gate_runs_total", "counter", "Gate runs by verdict."},
	{"ralph_verdicts_total", "counter", "Verdicts of verifiers."},
	{"ralph_tool_calls_total", "counter", "Tool calls of agents, by kind."},
	{"ralph_warnings_total", "counter", "Warnings."},
	{"ralph_waits_total", "counter", "How often the run had to wait."},
}

// text is the whole file.
func (m *Metrics) text() string {
	var b strings.Builder
	for _, f := range families {
		names := []string{f.name}
		if f.kind == "summary" {
			names = []string{f.name + "_sum", f.name + "_count"}
		}
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s %s\n", f.name, f.help, f.name, f.kind)
		for _, name := range names {
			for _, l := range slices.Sorted(maps.Keys(m.values[name])) {
				fmt.Fprintf(&b, "%s%s %s\n", name, l, number(m.values[name][l]))
			}
		}
	}
	return b.String()
}

func number(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1e15 {
		return strconv.FormatInt(int64(v), 10)
	}
	return strconv.FormatFloat(human.Exact(v), 'g', -1, 64)
}

// labels writes pairs of names and values as Prometheus reads them.
func labels(pairs ...string) string {
	if len(pairs) == 0 {
		return ""
	}
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
	var list []string
	for pair := range slices.Chunk(pairs, 2) {
		list = append(list, pair[0]+`="`+escape.Replace(strings.ToValidUTF8(pair[1], "?"))+`"`)
	}
	return "{" + strings.Join(list, ",") + "}"
}
