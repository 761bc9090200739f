package drift

import "time"

// window is how many calls back repetition is looked for: an agent that goes in
// a circle of a few calls repeats each of them.
const window = 24

// Call is a tool call that has ended.
type Call struct {
	Name   string // as people see it
	Input  string // digests; two calls are the same if name, input and result are.
	Result string // Unknown for a call whose input was not reported.
	Failed bool
}

// Stats are what is counted about one attempt, and about those before it at the
// same task. The zero value is an attempt that has not started.
type Stats struct {
	Iterations int   // attempts at the task, this one too
	Tokens     int64 // used by this attempt
	Failures   int   // tool calls in a row that failed
	Unchanged  int   // attempts in a row that changed no file, this one too

	last    time.Time // something new came of it
	working int       // calls that have started and not ended
	recent  []Call    // since the last change, the newest last
}

// Begin starts the clock, at the first prompt and at every later one.
func (s *Stats) Begin(now time.Time) {
	s.last, s.working = now, 0
}

// Started notes a call that has started. While one runs, nothing new is expected.
func (s *Stats) Started() { s.working++ }

// Ended notes what came of a call. A result that was not there before is news.
func (s *Stats) Ended(c Call, now time.Time) {
	s.working = max(s.working-1, 0)
	if c.Failed {
		s.Failures++
	} else {
		s.Failures = 0
	}
	if !c.Failed && s.count(c) == 0 {
		s.last = now
	}
	if c.Input == "" {
		return // who knows whether it is the same
	}
	s.recent = append(s.recent, c)
	if len(s.recent) > window {
		s.recent = append([]Call(nil), s.recent[len(s.recent)-window:]...)
	}
}

// Changed notes that a file was changed: the next build may print what the last
// one did, and that is no repetition.
func (s *Stats) Changed(now time.Time) {
	s.last, s.recent = now, nil
}

// Forgive starts over after a follow-up, so that it does not count what came
// before. What the attempt has used stays used: the tokens may grow by as much
// again.
func (s *Stats) Forgive(now time.Time) {
	s.Begin(now)
	s.Failures, s.Tokens, s.recent = 0, 0, nil
}

func (s Stats) count(c Call) int {
	n := 0
	for _, old := range s.recent {
		if old == c {
			n++
		}
	}
	return n
}

// repeated is the call that came most often.
func (s Stats) repeated() (name string, times int) {
	for _, c := range s.recent {
		if n := s.count(c); n > times {
			name, times = c.Name, n
		}
	}
	return name, times
}

func (s Stats) quiet(now time.Time) time.Duration {
	if s.last.IsZero() || s.working > 0 {
		return 0
	}
	return now.Sub(s.last)
}
