package ratelimit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"ralph/internal/plain"
)

const (
	maxText  = 8 << 10  // of all that was said
	maxData  = 64 << 10 // of JSON
	maxDepth = 8
)

// How much a stated time is worth. Agents pass on all the headers they got, and
// only the first says when this very request may be made again.
const (
	byRetry  = iota // retry-after and its like
	byReset         // the reset of the limit that was met
	byWords         // in a sentence
	byWindow        // the resets of all limits there are, met or not
	ranks
)

// Evidence is what an error holds, collected.
type Evidence struct {
	Status  int    // of HTTP, 0 if none
	Details string // the texts in the data

	now    time.Time
	named  bool   // it has a name that programs give to limits
	said   string // all texts, the agent's own first
	quoted int    // how deep it is in data that stands in a text
	stated [ranks]time.Time
}

// Collect looks at what an agent reports as an error: text is what it said, status that
// of HTTP if the error has one, data whatever JSON came with it; any of them may be empty.
// Clock times without a zone are taken in the zone of now.
func Collect(text string, status int, data []byte, now time.Time) *Evidence {
	e := &Evidence{now: now, Status: status}
	e.addText(text, 0)
	if len(data) <= maxData {
		e.decode(bytes.NewReader(data), 0)
	}
	e.Details = strings.TrimSpace(e.Details)
	return e
}

// addText takes a text; JSON in it is data, too.
func (e *Evidence) addText(text string, depth int) {
	if room := maxText - len(e.said); len(text) > room {
		text = text[:max(room, 0)]
	}
	text = typewritten(text)
	if strings.TrimSpace(text) == "" {
		return
	}
	e.said += text + "\n"
	if i := strings.IndexByte(text, '{'); i >= 0 && depth < 3 {
		e.quoted++
		e.decode(strings.NewReader(text[i:]), depth+1)
		e.quoted--
	}
	if e.Status == 0 {
		e.Status = statusIn(text)
	}
}

func (e *Evidence) decode(r io.Reader, depth int) {
	var v any
	dec := json.NewDecoder(r)
	dec.UseNumber()
	if dec.Decode(&v) == nil {
		e.look("", v, depth)
	}
}

// look walks through data; agents nest the error of their provider.
func (e *Evidence) look(key string, v any, depth int) {
	if depth > maxDepth {
		return
	}
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			e.look(key, item, depth+1)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if k := squeeze(name); k != "authmethods" { // they are no part of what happened
				e.look(k, v[name], depth+1)
			}
		}
	case json.Number:
		if n, err := v.Float64(); err == nil {
			e.number(key, n)
		}
	case string:
		if n, err := strconv.ParseFloat(v, 64); err == nil {
			e.number(key, n)
			return
		}
		e.name(key, v)
		if e.time(key, v) {
			return
		}
		e.addText(v, depth+1)
		if e.quoted == 0 && len(e.Details) < maxText {
			e.Details += v + " "
		}
	}
}

// number takes a status, or a time.
func (e *Evidence) number(key string, n float64) {
	switch key {
	case "status", "statuscode", "httpstatus", "httpstatuscode", "httpcode", "code", "upstreamstatus", "errorcode":
		if n >= 400 && n < 600 && e.Status != 429 && e.Status != 529 {
			e.Status = int(n)
		}
		return
	}
	rank, ms, ok := timeKey(key)
	switch {
	case !ok || n <= 0:
	case n >= 1e12 && n < 1e14: // milliseconds since 1970
		e.addTime(rank, time.UnixMilli(int64(n)))
	case n >= 1e9 && n < 1e11: // seconds since 1970
		e.addTime(rank, time.Unix(int64(n), 0))
	case ms:
		e.addTime(rank, e.now.Add(span(n, time.Millisecond)))
	default:
		e.addTime(rank, e.now.Add(span(n, time.Second)))
	}
}

// name takes what a program calls the error.
func (e *Evidence) name(key, value string) {
	switch key {
	case "type", "code", "status", "reason", "error", "name", "errorcode", "errortype", "kind", "errorkind", "codexerrorinfo":
		e.named = e.named || slices.Contains(names, squeeze(value))
	}
}

// time takes a moment or a span under a key that says when.
func (e *Evidence) time(key, value string) bool {
	rank, _, ok := timeKey(key)
	if !ok {
		return false
	}
	t, ok := moment(value, e.now)
	if ok {
		e.addTime(rank, t)
	}
	return ok
}

// addTime notes a time. Of two that are worth the same the later counts; of the
// windows the earlier, because only one of them is the one that was met.
func (e *Evidence) addTime(rank int, t time.Time) {
	if t.Sub(e.now) > Longest { // Sub saturates
		t = e.now.Add(Longest)
	}
	if old := e.stated[rank]; t.After(e.now) && (old.IsZero() || t.After(old) != (rank == byWindow)) {
		e.stated[rank] = t
	}
}

// timeKey says what a time under that key is worth, and whether a bare number
// there is milliseconds.
func timeKey(key string) (rank int, ms, ok bool) {
	name, ms := strings.CutSuffix(key, "ms")
	if !ms {
		name, ms = strings.CutSuffix(key, "milliseconds")
	}
	name = strings.TrimSuffix(strings.TrimSuffix(name, "seconds"), "secs")
	switch name {
	case "retryafter", "retrydelay", "retryin", "xretryafter", "retryafterin":
		return byRetry, ms, true
	case "resetsat", "resetat", "resetsin", "resetin", "resetafter", "resettime", "resettimestamp", "resetdate", "resetdelay",
		"quotaresettimestamp", "quotaresetdelay", "quotaresettime", "unifiedreset", "anthropicratelimitunifiedreset":
		return byReset, ms, true
	}
	return byWindow, ms, strings.Contains(name, "ratelimit") && (strings.HasSuffix(name, "reset") || strings.Contains(name, "resetre") || strings.Contains(name, "resetto"))
}

// until is the best of what was stated, or zero.
func (e *Evidence) until() time.Time {
	if t, ok := find(e.said, e.now); ok {
		e.addTime(byWords, t)
	}
	for _, t := range e.stated {
		if !t.IsZero() {
			return t
		}
	}
	return time.Time{}
}

func (e *Evidence) reason() string {
	if text := oneLine(e.said, 300); text != "" {
		return text
	}
	return fmt.Sprintf("HTTP %d", e.Status)
}

// squeeze makes keys and names comparable: retry-after, retryAfter, Retry_After.
func squeeze(s string) string {
	if len(s) > 64 {
		return ""
	}
	return strings.Map(func(r rune) rune {
		if !plain.IsAlnum(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, s)
}

// span is n units, at most a little more than Longest.
func span(n float64, unit time.Duration) time.Duration {
	return time.Duration(min(n, float64(Longest/unit)+1) * float64(unit))
}

// typewritten makes quotes and apostrophes ordinary ones.
func typewritten(text string) string {
	return strings.NewReplacer("\u2019", "'", "\u2018", "'", "\u201c", `"`, "\u201d", `"`, "\u00a0", " ", "\u202f", " ").Replace(strings.ToValidUTF8(text, "?"))
}
