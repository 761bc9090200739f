package project

import (
	"fmt"
	"time"
)

// ParseUntil reads a time of day and returns the next after now; empty is none. On a
// day that has it twice both count, and on one that leaves it out it comes as much
// later as the clock is put forward.
func ParseUntil(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse("15:04", text)
	if err != nil {
		return time.Time{}, fmt.Errorf("%q is not a time of day; write it like 07:00", text)
	}
	y, m, d := now.Date()
	for plus := 0; ; plus++ {
		for _, t := range moments(time.Date(y, m, d+plus, at.Hour(), at.Minute(), 0, 0, time.UTC), now.Location()) {
			if t.After(now) {
				return t, nil
			}
		}
	}
}

// moments are those at which clocks in a zone show what wall shows in UTC, the
// earliest first. time.Date knows only one, and takes either side of a gap.
func moments(wall time.Time, zone *time.Location) []time.Time {
	var list []time.Time
	var before time.Time
	for _, side := range []time.Duration{-24 * time.Hour, 24 * time.Hour} {
		_, offset := wall.Add(side).In(zone).Zone()
		t := wall.Add(-time.Duration(offset) * time.Second).In(zone)
		if side < 0 {
			before = t
		}
		if t.Hour() == wall.Hour() && t.Minute() == wall.Minute() && (len(list) == 0 || !t.Equal(list[0])) {
			list = append(list, t)
		}
	}
	if len(list) == 0 {
		return []time.Time{before}
	}
	return list
}
