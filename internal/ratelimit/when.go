package ratelimit

import (
	"strconv"
	"strings"
	"time"

	"ralph/internal/plain"
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

// find is the first time that a text states, with the words that make it one.
func find(text string, now time.Time) (time.Time, bool) {
	if m := barred.Get().FindStringSubmatch(text); m != nil {
		return epoch(m[1]), true
	}
	for _, at := range anchors.Get().FindAllStringIndex(text, 16) {
		word := squeeze(text[at[0]:at[1]])
		rest := text[at[1]:]
		rest = rest[len(fillers.Get().FindString(rest)):]
		if t, ok := moment(rest, now); ok {
			return t, true
		}
		if seconds, ok := strings.CutPrefix(word, "retryafter"); ok { // the header: a bare number
			if n, err := strconv.ParseFloat(number.Get().FindString(rest), 64); err == nil {
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
func moment(text string, now time.Time) (time.Time, bool) {
	text = strings.TrimLeft(text, " \t\r\n")
	text = text[:min(len(text), 120)]
	if m := digits.Get().FindString(text); m != "" {
		return epoch(m), true
	}
	if d, ok := duration(text); ok {
		return now.Add(d), true
	}
	return clock(text, now)
}

func epoch(text string) time.Time {
	n := int64(atoi(text))
	if n >= 1e12 {
		return time.UnixMilli(n)
	}
	return time.Unix(n, 0)
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
			rest = strings.TrimPrefix(strings.TrimLeft(rest, " \t\r\n,"), "and ")
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
	if m := number.Get().FindString(text); m != "" {
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
	return text[:len(text)-len(strings.TrimLeftFunc(text, plain.IsLetter[rune]))]
}

// late is how long after a time of day it is taken for that one and not for the
// next day's: providers repeat a reset that has just passed, and asking again
// soon costs less than a day.
const late = time.Hour

const (
	months = `(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?`
	days   = `(mon(?:day)?|tue(?:s(?:day)?)?|wed(?:nesday)?|thu(?:r(?:s(?:day)?)?)?|fri(?:day)?|sat(?:urday)?|sun(?:day)?)\b\.?`
	then   = `(?:,? +(?:at +)?)?` // between a day and a time
)

var (
	isoDate  = lazily(`^(\d{4})-(\d\d)-(\d\d)(?:[T ]+|,\s*|\s+at\s+)?`)
	httpDate = lazily(`^[a-z]{3}, \d\d [a-z]{3} \d{4} \d\d:\d\d:\d\d gmt`)
	monthDay = lazily(`^(?:` + days + `,? )?` + months + ` (\d{1,2})(?:st|nd|rd|th)?\b(?:,? (\d{4})\b)?` + then)
	dayMonth = lazily(`^(?:` + days + `,? )?(\d{1,2})(?:st|nd|rd|th)? ` + months + `(?:,? (\d{4})\b)?` + then)
	weekday  = lazily(`^` + days + then)
	dayWord  = lazily(`^(today|tomorrow)\b` + then)
	timeText = lazily(`^(?:(midnight|noon)\b|(\d{1,2})(?::(\d\d))?(?::(\d\d)(?:\.\d{1,9})?)?(?:\s*([ap])\.?m\b\.?)?)`)
	joined   = lazily(`^(?:,? +on +|,? +)`)
)

// day is the day that is meant, and that time on it: on makes it one of a date. nil is any.
type day func(now time.Time, on func(year int, month time.Month, of int) time.Time) time.Time

// clock reads a time of day, with or without a date, at the beginning of a text.
func clock(text string, now time.Time) (time.Time, bool) {
	if m := httpDate.Get().FindString(text); m != "" {
		t, err := time.Parse(time.RFC1123, m[:len(m)-3]+"GMT")
		return t, err == nil
	}
	which, rest := date(text)
	hour, minute, second, rest, ok := timeOfDay(rest)
	if !ok && which == nil {
		return time.Time{}, false
	}
	zone, rest, ok := zoneIn(rest, now.Location())
	if !ok {
		return time.Time{}, false
	}
	if which == nil { // "9am on Friday"
		which, _ = date(rest[len(joined.Get().FindString(rest)):])
	}
	if which == nil {
		which = next(func(time.Time) bool { return true })
	}
	return which(now.In(zone), func(year int, month time.Month, of int) time.Time {
		return time.Date(year, month, of, hour, minute, second, 0, zone)
	}), true
}

func date(text string) (day, string) {
	if m := isoDate.Get().FindStringSubmatch(text); m != nil {
		return dated(atoi(m[1]), time.Month(atoi(m[2])), atoi(m[3])), text[len(m[0]):]
	}
	if m := monthDay.Get().FindStringSubmatch(text); m != nil {
		return dated(atoi(m[4]), monthOf(m[2]), atoi(m[3])), text[len(m[0]):]
	}
	if m := dayMonth.Get().FindStringSubmatch(text); m != nil {
		return dated(atoi(m[4]), monthOf(m[3]), atoi(m[2])), text[len(m[0]):]
	}
	if m := dayWord.Get().FindStringSubmatch(text); m != nil {
		return func(now time.Time, on func(int, time.Month, int) time.Time) time.Time {
			if strings.EqualFold(m[1], "tomorrow") {
				now = now.AddDate(0, 0, 1)
			}
			return on(now.Date())
		}, text[len(m[0]):]
	}
	if m := weekday.Get().FindStringSubmatch(text); m != nil {
		return next(func(t time.Time) bool { return strings.EqualFold(t.Weekday().String()[:3], m[1][:3]) }), text[len(m[0]):]
	}
	return nil, text
}

// dated is a date; without a year (0) the nearest one.
func dated(year int, month time.Month, of int) day {
	return func(now time.Time, on func(int, time.Month, int) time.Time) time.Time {
		if year != 0 {
			return on(year, month, of)
		}
		best := on(now.Year(), month, of)
		for _, year := range []int{now.Year() - 1, now.Year() + 1} {
			if t := on(year, month, of); t.Sub(now).Abs() < best.Sub(now).Abs() {
				best = t
			}
		}
		return best
	}
}

// next is the next day that fits on which the time has not passed, or has only just.
func next(fits func(time.Time) bool) day {
	return func(now time.Time, on func(int, time.Month, int) time.Time) time.Time {
		y, m, today := now.Date()
		for plus := 0; ; plus++ {
			if t := on(y, m, today+plus); t.After(now.Add(-late)) && fits(t) || plus > 8 {
				return t
			}
		}
	}
}

// timeOfDay reads 3am, 2:30 PM, 14:00, midnight; none is the day's beginning.
func timeOfDay(text string) (hour, minute, second int, rest string, ok bool) {
	m := timeText.Get().FindStringSubmatch(text)
	if m == nil || m[1] == "" && m[3] == "" && m[5] == "" {
		return 0, 0, 0, text, false
	}
	hour, minute, second = atoi(m[2]), atoi(m[3]), atoi(m[4])
	if m[5] != "" && (hour < 1 || hour > 12) {
		return 0, 0, 0, text, false
	}
	if m[5] != "" {
		hour %= 12
	}
	if strings.EqualFold(m[1], "noon") || strings.EqualFold(m[5], "p") {
		hour += 12
	}
	return hour, minute, second, text[len(m[0]):], hour < 24 && minute < 60 && second < 60
}

func atoi(s string) int {
	n, _ := strconv.Atoi(s) // all callers matched digits, or nothing
	return n
}

func monthOf(name string) time.Month {
	t, _ := time.Parse("Jan", name[:3]) // in any case; all callers matched a month
	return t.Month()
}

var (
	zoneOffset = lazily(`^\s*\(?\s*(?:utc|gmt)?\s*([+-])(\d{1,2})(?::?(\d\d))?\b\s*\)?`)
	zoneName   = lazily(`^\s*\(?\s*([a-z]+(?:/[a-z0-9_+-]+){0,2})(?: time)?\b\s*\)?`)
)

// zones are the abbreviations that agents use. Some mean other places elsewhere;
// this is how providers mean them.
var zones = map[string]string{
	"utc": "UTC", "gmt": "UTC", "z": "UTC",
	"et": "America/New_York", "est": "America/New_York", "edt": "America/New_York", "eastern": "America/New_York",
	"ct": "America/Chicago", "cst": "America/Chicago", "cdt": "America/Chicago", "central": "America/Chicago",
	"mt": "America/Denver", "mst": "America/Denver", "mdt": "America/Denver", "mountain": "America/Denver",
	"pt": "America/Los_Angeles", "pst": "America/Los_Angeles", "pdt": "America/Los_Angeles", "pacific": "America/Los_Angeles",
	"cet": "Europe/Berlin", "cest": "Europe/Berlin", "bst": "Europe/London", "wet": "Europe/Lisbon", "west": "Europe/Lisbon",
	"eet": "Europe/Helsinki", "eest": "Europe/Helsinki", "msk": "Europe/Moscow", "ist": "Asia/Kolkata", "jst": "Asia/Tokyo",
	"kst": "Asia/Seoul", "sgt": "Asia/Singapore", "hkt": "Asia/Hong_Kong", "aest": "Australia/Sydney", "aedt": "Australia/Sydney",
	"nzst": "Pacific/Auckland", "nzdt": "Pacific/Auckland",
}

// zoneIn reads the zone at the beginning of a text; if there is none, it is loc. It
// is false for one that this machine does not know: a time there means nothing.
func zoneIn(text string, loc *time.Location) (zone *time.Location, rest string, ok bool) {
	if m := zoneOffset.Get().FindStringSubmatch(text); m != nil && atoi(m[2]) <= 14 {
		seconds := atoi(m[2])*3600 + atoi(m[3])*60
		if m[1] == "-" {
			seconds = -seconds
		}
		return time.FixedZone("", seconds), text[len(m[0]):], true
	}
	m := zoneName.Get().FindStringSubmatch(text)
	if m == nil {
		return loc, text, true
	}
	name := zones[strings.ToLower(m[1])]
	if name == "" && strings.Contains(m[1], "/") {
		name = m[1]
	}
	if name == "" {
		return loc, text, true
	}
	zone, err := time.LoadLocation(name)
	return zone, text[len(m[0]):], err == nil
}
