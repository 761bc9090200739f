package project

import (
	"encoding/base64"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"
	"unicode"
)

// badText says what is wrong with a text, or with one of a list, by the name that the tag "is" of its field has for it.
func badText(is, text string) string {
	switch is {
	case "until":
		_, err := ParseUntil(text, time.Time{})
		return said(err)
	case "wait":
		_, err := ParseWait(text)
		return said(err)
	case "key file":
		if key, err := base64.StdEncoding.DecodeString(text); err == nil && len(key) == 32 {
			return "it is the path of the file with the key, never the key itself"
		}
		return ""
	}
	if rule, known := textRules[is]; known && rule.bad(text) {
		return fmt.Sprintf("%q %s", text, rule.says)
	}
	return ""
}

func said(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

var textRules = map[string]struct {
	bad  func(string) bool
	says string
}{
	"variable": {isBadRule, "is not a variable name; write NAME, PREFIX_* or, to withhold one, !NAME"},
	"inside":   {isOutside, "leads out of the project"},
	"listen":   {func(s string) bool { _, _, err := net.SplitHostPort(s); return err != nil }, "is not an address with a port, such as 127.0.0.1:7447"},
	"host":     {func(s string) bool { return s == "" || strings.ContainsAny(s, "/@*? ") }, "is not the name of a host, such as ralph.example.com"},
	"server":   {func(s string) bool { return s != "" && portless(s) }, "is not an address with a port, such as temporal.example.com:7233"},
	"remote":   {func(s string) bool { return spaced(s) || strings.HasPrefix(s, "-") }, "is not the name of a git remote, such as origin"},
	"queue":    {spaced, "is not the name of a task queue, such as ralph"},
	"tag":      {func(s string) bool { return spaced(s) || strings.Contains(s, ",") }, "is not a tag of tasks, such as gpu"},
}

func isBadRule(rule string) bool {
	name := strings.TrimPrefix(rule, "!")
	return name == "" || strings.ContainsAny(name, "=! \t\n\x00") || strings.Contains(strings.TrimSuffix(name, "*"), "*")
}

// isOutside reports whether a pattern of .gitignore can only match outside the project.
func isOutside(pattern string) bool {
	return slices.Contains(strings.Split(strings.TrimPrefix(pattern, "!"), "/"), "..")
}

// spaced reports whether a text is empty or has spaces.
func spaced(text string) bool { return text == "" || strings.ContainsFunc(text, unicode.IsSpace) }

// portless reports whether a text is not an address with a port.
func portless(text string) bool {
	_, port, err := net.SplitHostPort(text)
	return err != nil || port == ""
}
