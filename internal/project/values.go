package project

import (
	"math"
	"strconv"
	"strings"
	"time"

	"ralph/internal/human"
)

// Duration is a time.Duration written like "10m" or "2d12h".
type Duration time.Duration

// valueError is a value that cannot be read, although it is of the right type.
type valueError struct{ text, why string }

func (e *valueError) Error() string { return strconv.Quote(e.text) + " " + e.why }

// UnmarshalText reads what time.ParseDuration reads, and whole days before it, but
// nothing negative.
func (d *Duration) UnmarshalText(text []byte) error {
	v, why := human.ParseDuration(string(text))
	if why != "" {
		return &valueError{string(text), why}
	}
	*d = Duration(v)
	return nil
}

// Std is the standard library's type.
func (d Duration) Std() time.Duration { return time.Duration(d) }

// String is how it is written in the file.
func (d Duration) String() string { return human.Duration(time.Duration(d)) }

// Size is a number of bytes, written like "512MiB" or "1.5GiB".
type Size int64

func sizeUnits() []string { return []string{"KiB", "MiB", "GiB", "TiB"} }

// UnmarshalText reads a number and its unit. 0 needs none.
func (s *Size) UnmarshalText(text []byte) error {
	number, bytes := strings.TrimSpace(string(text)), 0.0
	for i, unit := range sizeUnits() {
		if before, ok := strings.CutSuffix(number, unit); ok {
			number, bytes = strings.TrimSpace(before), float64(int64(1)<<(10*(i+1)))
			break
		}
	}
	n, err := strconv.ParseFloat(number, 64)
	switch {
	case err != nil, n < 0, n != 0 && bytes == 0:
		return &valueError{string(text), `is not a size; write it like "512MiB" or "4GiB"`}
	case n*bytes >= math.MaxInt64, math.IsNaN(n):
		return &valueError{string(text), "is too large"}
	}
	*s = Size(n * bytes)
	return nil
}

// String is how it is written in the file.
func (s Size) String() string {
	if s == 0 {
		return "0"
	}
	units := sizeUnits()
	for i := len(units); i > 0; i-- {
		if bytes := Size(1) << (10 * i); s >= bytes && s%(bytes/1024) == 0 {
			return strconv.FormatFloat(float64(s)/float64(bytes), 'f', -1, 64) + units[i-1]
		}
	}
	return strconv.FormatFloat(float64(s)/1024, 'f', -1, 64) + "KiB"
}
