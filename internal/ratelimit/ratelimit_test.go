package ratelimit

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // whatever this machine knows

	"ralph/internal/testing/check"
)

// The corpus was written for that moment: a Sunday, 2:30 in Berlin.
var noon = time.Date(2026, 11, 15, 1, 30, 0, 0, time.UTC)

func berlin(t testing.TB) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation("Europe/Berlin")
	check.OK(t, err)
	return loc
}

// sample is one error of the corpus, and what is to be made of it.
type sample struct {
	Text  string          `json:"text"`
	HTTP  int             `json:"http"`
	Data  json.RawMessage `json:"data"`
	Until string          `json:"until"` // RFC 3339, or a span from now, or nothing
}

func (s sample) until(t *testing.T) time.Time {
	t.Helper()
	if s.Until == "" {
		return time.Time{}
	}
	if span, ok := strings.CutPrefix(s.Until, "+"); ok {
		d, err := time.ParseDuration(span)
		check.OK(t, err)
		return noon.Add(d)
	}
	at, err := time.Parse(time.RFC3339, s.Until)
	check.OK(t, err)
	return at
}

func corpus(t testing.TB, name string, least int) []sample {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name))
	check.OK(t, err)
	defer f.Close()
	var list []sample
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var s sample
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			t.Fatalf("%s:%d: %v", name, len(list)+1, err)
		}
		list = append(list, s)
	}
	if len(list) < least {
		t.Fatalf("%s has %d samples, want at least %d", name, len(list), least)
	}
	return list
}

func TestLimitsAreRecognisedWithTheirReset(t *testing.T) {
	t.Parallel()
	expect := func(s sample, got Limit, ok bool) {
		if !ok || !got.Until.Round(time.Millisecond).Equal(s.until(t)) || got.Reason == "" || strings.Contains(got.Reason, "\n") {
			t.Errorf("%q %s\ngot  %v %+v\nwant %v", s.Text, s.Data, ok, got, s.until(t))
		}
	}
	for _, s := range corpus(t, "limits.jsonl", 60) {
		got, ok := Collect(s.Text, s.HTTP, s.Data, noon.In(berlin(t))).Limit()
		expect(s, got, ok)
	}
	for _, s := range corpus(t, "messages_limits.jsonl", 20) { // some agents end a turn with the error as their message
		got, ok := Sentence(s.Text, noon.In(berlin(t)))
		expect(s, got, ok)
	}
}

func TestOtherErrorsAndMessagesAboutWorkAreNoLimits(t *testing.T) {
	t.Parallel()
	for _, s := range corpus(t, "errors.jsonl", 60) {
		if got, ok := Collect(s.Text, s.HTTP, s.Data, noon.In(berlin(t))).Limit(); ok {
			t.Errorf("%q %d %s: got %+v", s.Text, s.HTTP, s.Data, got)
		}
	}
	for _, s := range corpus(t, "messages_work.jsonl", 60) {
		if got, ok := Sentence(s.Text, noon.In(berlin(t))); ok {
			t.Errorf("%q: got %+v", s.Text, got)
		}
	}
}

func TestATimeOfDayIsTheNextInItsZone(t *testing.T) {
	t.Parallel()
	at := func(text string) time.Time {
		t, err := time.Parse(time.RFC3339, text)
		if err != nil {
			panic(err)
		}
		return t
	}
	for name, tc := range map[string]struct{ now, said, want string }{
		"later today":                            {"2026-07-01T10:00:00Z", "resets 3pm", "2026-07-01T13:00:00Z"},
		"tomorrow":                               {"2026-07-01T15:00:00Z", "resets 3pm", "2026-07-02T13:00:00Z"},
		"half an hour ago: reported too late":    {"2026-07-01T13:30:00Z", "resets 3pm", ""},
		"this very moment":                       {"2026-07-01T13:00:00Z", "resets 3pm", ""},
		"over the end of summer time":            {"2026-10-24T22:00:00Z", "resets 6am", "2026-10-25T05:00:00Z"},
		"over the beginning of summer time":      {"2026-03-28T22:00:00Z", "resets 6am", "2026-03-29T04:00:00Z"},
		"a time that the day does not have":      {"2026-03-28T22:00:00Z", "resets 2:30am", "2026-03-29T01:30:00Z"},
		"in a zone where it is tomorrow already": {"2026-07-01T20:00:00Z", "resets 3am (Pacific/Auckland)", "2026-07-02T15:00:00Z"},
		"in a zone where it is still yesterday":  {"2026-07-02T03:00:00Z", "resets 11pm (America/Los_Angeles)", "2026-07-02T06:00:00Z"},
		"in a zone that nobody knows":            {"2026-07-01T10:00:00Z", "resets 3pm (Middle/Earth)", ""},
		"with an offset":                         {"2026-07-01T10:00:00Z", "resets 3pm UTC-05:00", "2026-07-01T20:00:00Z"},
		"with a short name":                      {"2026-07-01T10:00:00Z", "resets 3pm PT", "2026-07-01T22:00:00Z"},
		"noon":                                   {"2026-07-01T09:00:00Z", "resets at noon", "2026-07-01T10:00:00Z"},
		"midnight":                               {"2026-07-01T09:00:00Z", "resets at midnight UTC", "2026-07-02T00:00:00Z"},
		"twelve at night":                        {"2026-07-01T09:00:00Z", "resets at 12am UTC", "2026-07-02T00:00:00Z"},
		"twelve at day":                          {"2026-07-01T09:00:00Z", "resets at 12pm UTC", "2026-07-01T12:00:00Z"},
		"a date of next year":                    {"2026-12-30T09:00:00Z", "resets Jan 2, 9am (UTC)", "2027-01-02T09:00:00Z"},
		"a date that has passed":                 {"2026-11-15T09:00:00Z", "resets Nov 14, 9am (UTC)", ""},
		"a date before its month":                {"2026-11-15T09:00:00Z", "resets 17 November 2026, 09:00 UTC", "2026-11-17T09:00:00Z"},
		"a day of the week":                      {"2026-11-15T09:00:00Z", "resets Tue 9:00 UTC", "2026-11-17T09:00:00Z"},
		"today's day of the week":                {"2026-11-15T09:00:00Z", "resets Sunday at 10:00 UTC", "2026-11-15T10:00:00Z"},
		"today's day of the week, over":          {"2026-11-15T12:00:00Z", "resets Sunday at 10:00 UTC", "2026-11-22T10:00:00Z"},
		"the day after the time":                 {"2026-11-15T12:00:00Z", "resets 9am (UTC) on Nov 17", "2026-11-17T09:00:00Z"},
		"an hour that does not exist":            {"2026-11-15T12:00:00Z", "resets 25:00", ""},
		"a word that begins like a day":          {"2026-11-15T12:00:00Z", "wait until satisfied, then retry monitoring", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := time.Time{}
			if tc.want != "" {
				want = at(tc.want)
			}
			got, ok := Collect("usage limit reached · "+tc.said, 0, nil, at(tc.now).In(berlin(t))).Limit()
			if !ok || !got.Until.Equal(want) {
				t.Errorf("got %v %v, want %v", ok, got.Until.UTC(), want)
			}
		})
	}
}

// FuzzEvidence states what holds whatever an agent sends.
func FuzzEvidence(f *testing.F) {
	for _, name := range []string{"limits.jsonl", "errors.jsonl", "messages_limits.jsonl", "messages_work.jsonl"} {
		for _, s := range corpus(f, name, 1) {
			f.Add(s.Text, s.HTTP, []byte(s.Data), noon.Unix())
		}
	}
	loc := berlin(f)
	f.Fuzz(func(t *testing.T, text string, http int, data []byte, unix int64) {
		now := time.Unix(unix%(1<<36), 0).In(loc)
		for name, recognise := range map[string]func() (Limit, bool){
			"an error":  func() (Limit, bool) { return Collect(text, http, data, now).Limit() },
			"a message": func() (Limit, bool) { return Sentence(text, now) },
		} {
			got, ok := recognise()
			switch {
			case !ok && got != (Limit{}):
				t.Errorf("%s: no limit, but %+v", name, got)
			case !ok:
			case !got.Until.IsZero() && (!got.Until.After(now) || got.Until.Sub(now) > Longest):
				t.Errorf("%s: until %v, now %v", name, got.Until, now)
			case strings.Contains(got.Reason, "\n"), len(got.Reason) > 310:
				t.Errorf("%s: %+v", name, got)
			}
		}
	})
}
