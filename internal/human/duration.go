package human

import (
	"cmp"
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
)

// ParseDuration reads what time.ParseDuration reads, and whole days before it, but nothing negative. Else it says what is wrong
// with the text.
func ParseDuration(text string) (d time.Duration, why string) {
	d, err := parseDuration(text)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, "is too long"
	case err != nil:
		return 0, `is not a duration; write it like "90s", "10m" or "2d12h"`
	}
	return d, ""
}

// parseDuration takes a day for 24 hours, whatever the clock does in it.
func parseDuration(text string) (time.Duration, error) {
	const day = 24 * time.Hour
	var days uint64
	if before, after, has := strings.Cut(text, "d"); has {
		var err error
		if days, err = strconv.ParseUint(before, 10, 64); err != nil {
			return 0, err
		}
		text = cmp.Or(after, "0s")
	}
	rest, err := time.ParseDuration(text)
	switch {
	case err != nil:
		return 0, err
	case rest < 0:
		return 0, strconv.ErrSyntax
	case days > uint64((math.MaxInt64-rest)/day):
		return 0, strconv.ErrRange
	}
	return time.Duration(days)*day + rest, nil
}
