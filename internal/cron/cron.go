// Package cron knows when a cron line is due in a time zone, also where clocks are put forward or back. It never looks at
// a clock and starts nothing.
package cron

import (
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // the zones of machines that have none, such as small containers

	"github.com/adhocore/gronx"

	"ralph/internal/lazyregexp"
)

// Line is a cron line in a time zone.
type Line struct {
	fields []string // second, minute, hour, day, month, weekday and perhaps year
	zone   *time.Location

	written string
}

// value is one entry of a field. The library would read the beginning of some others, and drop the rest.
var value = lazyregexp.New(`^(([*?]|\d{1,4}(-\d{1,4})?)(/\d{1,4})?|L|\d{1,2}[WL]|\d#\d)$`)

// Parse reads a cron line of five fields, six with seconds in front, or a name such as @daily. The zone is a name like
// Europe/Paris; an empty one is the machine's.
func Parse(text, zone string) (Line, error) {
	fields, err := gronx.Segments(text)
	if err != nil && strings.HasPrefix(text, "@") {
		return Line{}, fmt.Errorf("%q is not one of @hourly, @daily, @weekly, @monthly, @yearly", text)
	}
	if err != nil {
		return Line{}, fmt.Errorf("%q has %d fields; a cron line has five: minute, hour, day, month, weekday", text, len(strings.Fields(text)))
	}
	names := []string{"second", "minute", "hour", "day", "month", "weekday", "year"}
	for i, f := range fields {
		for part := range strings.SplitSeq(f, ",") {
			checker := &gronx.SegmentChecker{} // of one entry at a time: it stops at the first that fits the time
			checker.SetRef(time.Unix(0, 0).UTC())
			if _, err := checker.CheckDue(part, i); err != nil || !value.Get().MatchString(part) {
				return Line{}, fmt.Errorf("%q: %s cannot be %q", text, names[i], f)
			}
		}
	}
	l := Line{fields: fields, zone: time.Local, written: strings.TrimSpace(text + " " + zone)}
	if zone != "" {
		if l.zone, err = time.LoadLocation(zone); err != nil {
			return Line{}, fmt.Errorf("timezone %q is unknown; write it like Europe/Paris or UTC", zone)
		}
	}
	return l, nil
}

// String is the line without what people write in different ways, and its zone: two that are the same are due at the same times.
func (l Line) String() string { return strings.Join(l.fields, " ") + " " + l.zone.String() }

// Written is the line and its zone as somebody wrote them.
func (l Line) Written() string { return l.written }

// Zone is where the line is read.
func (l Line) Zone() *time.Location { return l.zone }

// transitions is after how many changes of a zone's clock nothing is looked for any more: half a century.
const transitions = 100

// Next is the first time after another at which the line is due, or zero if that never comes. A time that the clock
// skips is due when it has skipped it, and one that the clock shows twice is due the first time. Lines for
// every hour know no such times: they are due in each hour that passes.
func (l Line) Next(after time.Time) time.Time {
	at, including := after.In(l.zone), false
	for range transitions {
		if start, _ := at.ZoneBounds(); !l.hourly() && at.Before(start.Add(-l.shift(start))) {
			at, including = start.Add(-l.shift(start)), true // the clock shows these for the second time
		}
		_, offset := at.Zone()
		due, err := gronx.NextTickAfter(strings.Join(l.fields, " "), at.In(time.FixedZone("", offset)), including)
		_, end := at.ZoneBounds()
		switch {
		case err != nil:
			return time.Time{}
		case end.IsZero() || due.Before(end):
			return due.In(l.zone)
		case !l.hourly() && due.Before(end.Add(l.shift(end))):
			return end.In(l.zone)
		}
		at, including = end.In(l.zone), true
	}
	return time.Time{}
}

// hourly says that the line is for every hour.
func (l Line) hourly() bool { return l.fields[2] == "*" }

// shift is by how much a zone's clock is put forward at a time.
func (l Line) shift(at time.Time) time.Duration {
	if at.IsZero() {
		return 0
	}
	_, before := at.Add(-time.Second).In(l.zone).Zone()
	_, then := at.In(l.zone).Zone()
	return time.Duration(then-before) * time.Second
}

// Some are the next times, at most n.
func (l Line) Some(after time.Time, n int) (list []time.Time) {
	for after = l.Next(after); len(list) < n && !after.IsZero(); after = l.Next(after) {
		list = append(list, after)
	}
	return list
}
