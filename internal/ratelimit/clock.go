package ratelimit

import (
	"strconv"
	"strings"
	"time"
)

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
	timeWord = lazily(`^(midnight|noon)\b`)
	time12   = lazily(`^(\d{1,2})(?::(\d\d))?(?::(\d\d))?\s*([ap])\.?m\b\.?`)
	time24   = lazily(`^(\d{1,2}):(\d\d)(?::(\d\d)(?:\.\d{1,9})?)?`)
	joined   = lazily(`^(?:,? +on +|,? +)`)
)

type day struct {
	year  int // 0: the nearest
	month time.Month
	of    int // 0: none was given
	week  time.Weekday
	plus  int // days from today, with relative
	kind  dayKind
}

type dayKind int

const (
	anyDay dayKind = iota
	dated
	weekly
	relative
)

// clock reads a time of day, with or without a date, at the beginning of a text.
func clock(text string, now time.Time, loc *time.Location) (time.Time, bool) {
	if m := httpDate().FindString(text); m != "" {
		t, err := time.Parse(time.RFC1123, m[:len(m)-3]+"GMT")
		return t, err == nil
	}
	d, rest := date(text)
	hour, minute, second, rest, ok := timeOfDay(rest)
	if !ok && d.kind == anyDay {
		return time.Time{}, false
	}
	zone, rest, ok := zoneIn(rest, loc)
	if !ok {
		return time.Time{}, false
	}
	if d.kind == anyDay { // "9am on Friday"
		if after, _ := date(rest[len(joined().FindString(rest)):]); after.kind != anyDay {
			d = after
		}
	}
	return d.at(hour, minute, second, now.In(zone)), true
}

func date(text string) (day, string) {
	if m := isoDate().FindStringSubmatch(text); m != nil {
		return day{kind: dated, year: atoi(m[1]), month: time.Month(atoi(m[2])), of: atoi(m[3])}, text[len(m[0]):]
	}
	if m := monthDay().FindStringSubmatch(text); m != nil {
		return day{kind: dated, year: atoi(m[4]), month: monthOf(m[2]), of: atoi(m[3])}, text[len(m[0]):]
	}
	if m := dayMonth().FindStringSubmatch(text); m != nil {
		return day{kind: dated, year: atoi(m[4]), month: monthOf(m[3]), of: atoi(m[2])}, text[len(m[0]):]
	}
	if m := dayWord().FindStringSubmatch(text); m != nil {
		plus := 0
		if strings.EqualFold(m[1], "tomorrow") {
			plus = 1
		}
		return day{kind: relative, plus: plus}, text[len(m[0]):]
	}
	if m := weekday().FindStringSubmatch(text); m != nil {
		for w := time.Sunday; w <= time.Saturday; w++ {
			if strings.EqualFold(w.String()[:3], m[1][:3]) {
				return day{kind: weekly, week: w}, text[len(m[0]):]
			}
		}
	}
	return day{}, text
}

// at is that time on the day that is meant: the next there is, unless it has
// just passed.
func (d day) at(hour, minute, second int, now time.Time) time.Time {
	on := func(year int, month time.Month, of int) time.Time {
		return time.Date(year, month, of, hour, minute, second, 0, now.Location())
	}
	y, m, today := now.Date()
	switch d.kind {
	case dated:
		if d.year != 0 {
			return on(d.year, d.month, d.of)
		}
		best := on(y, d.month, d.of)
		for _, year := range []int{y - 1, y + 1} {
			if t := on(year, d.month, d.of); t.Sub(now).Abs() < best.Sub(now).Abs() {
				best = t
			}
		}
		return best
	case relative:
		return on(y, m, today+d.plus)
	}
	for plus := 0; ; plus++ {
		t := on(y, m, today+plus)
		if t.After(now.Add(-late)) && (d.kind == anyDay || t.Weekday() == d.week) || plus > 8 {
			return t
		}
	}
}

// timeOfDay reads 3am, 2:30 PM, 14:00, midnight; none is the day's beginning.
func timeOfDay(text string) (hour, minute, second int, rest string, ok bool) {
	if m := timeWord().FindStringSubmatch(text); m != nil {
		if strings.EqualFold(m[1], "noon") {
			hour = 12
		}
		return hour, 0, 0, text[len(m[0]):], true
	}
	if m := time12().FindStringSubmatch(text); m != nil {
		hour = atoi(m[1])
		if hour < 1 || hour > 12 {
			return 0, 0, 0, text, false
		}
		hour %= 12
		if strings.EqualFold(m[4], "p") {
			hour += 12
		}
		return hour, atoi(m[2]), atoi(m[3]), text[len(m[0]):], atoi(m[2]) < 60 && atoi(m[3]) < 60
	}
	if m := time24().FindStringSubmatch(text); m != nil {
		hour, minute, second = atoi(m[1]), atoi(m[2]), atoi(m[3])
		return hour, minute, second, text[len(m[0]):], hour < 24 && minute < 60 && second < 60
	}
	return 0, 0, 0, text, false
}

func atoi(s string) int {
	n, _ := strconv.Atoi(s) // all callers matched digits
	return n
}

func monthOf(name string) time.Month {
	for m := time.January; m <= time.December; m++ {
		if strings.EqualFold(m.String()[:3], name[:3]) {
			return m
		}
	}
	return 0
}
