package ratelimit

import (
	"strconv"
	"strings"
	"time"
)

var (
	// What stands before a time that matters.
	anchors = lazily(`\b(?:retry[-_ ]?after(?:[-_ ]?(?:ms|seconds|secs))?|try(?:ing)?(?: your request)? again|retry(?:ing)?(?: your request)?|wait(?:ing)?|resets?(?: time| date)?|resetting|renews?|refresh(?:es|ed)?|available(?: again)?|come back|until)\b`)
	// What may stand between the two.
	fillers = lazily(`^(?:[\s:=·∙•|,"'~≈(\[-]+|(?:it|is|will|be|at|in|on|after|for|about|approximately|around|the|least|until|your|request|again|by|another|within|next|reset|resets)\b)+`)
	// One agent puts the time behind a bar.
	barred = lazily(`\blimit reached\|(\d{10,13})\b`)
	number = lazily(`^\d{1,9}(?:\.\d{1,12})?`)
	digits = lazily(`^(\d{10}|\d{13})\b`)
)

// find is the first time that a text tells, with the words that make it one.
func find(text string, now time.Time, loc *time.Location) (time.Time, bool) {
	if m := barred().FindStringSubmatch(text); m != nil {
		return epoch(m[1])
	}
	for _, at := range anchors().FindAllStringIndex(text, 16) {
		word := squeeze(text[at[0]:at[1]])
		rest := text[at[1]:]
		rest = rest[len(fillers().FindString(rest)):]
		if t, ok := moment(rest, now, loc); ok {
			return t, true
		}
		if seconds, ok := strings.CutPrefix(word, "retryafter"); ok { // the header: a bare number
			if n, err := strconv.ParseFloat(number().FindString(rest), 64); err == nil {
				unit := time.Second
				if seconds == "ms" {
					unit = time.Millisecond
				}
				return now.Add(span(n, unit)), true
			}
		}
	}
	return time.Time{}, false
}

// moment reads a time at the beginning of a text: a span from now, a moment, or
// a time of day.
func moment(text string, now time.Time, loc *time.Location) (time.Time, bool) {
	text = strings.TrimLeft(text, " \t\r\n")
	if len(text) > 120 {
		text = text[:120]
	}
	if m := digits().FindString(text); m != "" {
		return epoch(m)
	}
	if d, ok := duration(text); ok {
		return now.Add(d), true
	}
	return clock(text, now, loc)
}

func epoch(text string) (time.Time, bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err != nil:
		return time.Time{}, false
	case n >= 1e12:
		return time.UnixMilli(n), true
	default:
		return time.Unix(n, 0), true
	}
}

var units = map[string]time.Duration{
	"ms": time.Millisecond, "msec": time.Millisecond, "msecs": time.Millisecond, "millisecond": time.Millisecond, "milliseconds": time.Millisecond,
	"s": time.Second, "sec": time.Second, "secs": time.Second, "second": time.Second, "seconds": time.Second,
	"m": time.Minute, "min": time.Minute, "mins": time.Minute, "minute": time.Minute, "minutes": time.Minute,
	"h": time.Hour, "hr": time.Hour, "hrs": time.Hour, "hour": time.Hour, "hours": time.Hour,
	"d": 24 * time.Hour, "day": 24 * time.Hour, "days": 24 * time.Hour,
	"w": 7 * 24 * time.Hour, "week": 7 * 24 * time.Hour, "weeks": 7 * 24 * time.Hour,
}

// duration reads 4m12s, "5 days 22 hours 11 minutes", "an hour", "1.5s".
func duration(text string) (time.Duration, bool) {
	total, parts := time.Duration(0), 0
	for parts < 8 {
		rest := text
		if parts > 0 {
			rest = strings.TrimLeft(rest, " \t\r\n,")
			if after, ok := strings.CutPrefix(rest, "and "); ok {
				rest = after
			}
		}
		count, after, ok := quantity(rest)
		if !ok {
			break
		}
		after = strings.TrimLeft(after, " \t\r\n")
		word := letters(after)
		unit, ok := units[strings.ToLower(word)]
		if !ok {
			break
		}
		total = min(total+span(count, unit), 2*Longest)
		text = after[len(word):]
		parts++
	}
	return total, parts > 0
}

// quantity reads a number, or the article of "an hour".
func quantity(text string) (n float64, rest string, ok bool) {
	if m := number().FindString(text); m != "" {
		n, err := strconv.ParseFloat(m, 64)
		return n, text[len(m):], err == nil
	}
	switch word := letters(text); strings.ToLower(word) {
	case "a", "an", "one":
		return 1, text[len(word):], true
	}
	return 0, "", false
}

func letters(text string) string {
	for i := range len(text) {
		if c := text[i] | 0x20; c < 'a' || c > 'z' {
			return text[:i]
		}
	}
	return text
}
