package ratelimit

import (
	"strings"
	"time"
)

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
	if m := zoneOffset().FindStringSubmatch(text); m != nil && atoi(m[2]) <= 14 {
		seconds := atoi(m[2])*3600 + atoi(m[3])*60
		if m[1] == "-" {
			seconds = -seconds
		}
		return time.FixedZone("", seconds), text[len(m[0]):], true
	}
	m := zoneName().FindStringSubmatch(text)
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
