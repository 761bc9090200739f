package tamper

import (
	"slices"
	"strings"

	"ralph/internal/lazyregexp"
)

var (
	rustFn     = lazyregexp.New(`^\s*(?:pub(?:\s*\([^)]*\))?\s+)?(?:const\s+)?(?:async\s+)?(?:unsafe\s+)?(?:extern\s+"[^"]*"\s+)?fn\s+(\w+)`)
	rustMod    = lazyregexp.New(`^\s*(?:pub(?:\s*\([^)]*\))?\s+)?mod\s+\w+\s*\{`)
	rustTest   = lazyregexp.New(`^#\[\s*(?:\w+\s*::\s*)*(?:test|rstest|test_case|test_log|quickcheck|wasm_bindgen_test)\b`)
	rustIgnore = lazyregexp.New(`^#\[\s*(?:ignore\b|cfg_attr\s*\(.*\bignore\b)`)
	rustFile   = lazyregexp.New(`#!\[\s*cfg\s*\(.*(?:\bany\s*\(\s*\)|\bfalse\b|\bfeature\b)`)
	rustNever  = lazyregexp.New(`^#\[\s*cfg\s*\(.*(?:\bany\s*\(\s*\)|\bfalse\b|\bfeature\b)`)
)

// parseRust finds functions with the attribute test, wherever they are: tests
// live beside the code.
func (s *suite) parseRust(code string) {
	var attributes []string
	closes := brackets(code)
	modEnd, modSkip := 0, "" // the module whose tests are all left out
	if rustFile().MatchString(code) {
		modEnd, modSkip = len(code), "#![cfg]"
	}
	for i := 0; i < len(code); {
		at := strings.Index(code[i:], "#[")
		if at < 0 {
			return
		}
		start := i + at
		end := min(int(closes[start+1])+1, len(code))
		attributes = append(attributes, strings.ReplaceAll(code[start:end], "\n", " "))
		i = end
		if strings.HasPrefix(strings.TrimLeft(code[i:], " \t\r\n"), "#[") {
			continue
		}
		if m := rustMod().FindStringIndex(code[i:]); m != nil && start >= modEnd {
			if skips := rustSkips(attributes); len(skips) > 0 {
				modEnd, modSkip = int(closes[i+m[1]-1]), skips[0]
			}
		}
		if m := rustFn().FindStringSubmatch(code[i:]); m != nil && slices.ContainsFunc(attributes, rustTest().MatchString) {
			t := test{name: m[1], skips: rustSkips(attributes)}
			if start < modEnd {
				t.skips = append(t.skips, modSkip)
			}
			s.tests = append(s.tests, t)
		}
		attributes = nil
	}
}

func rustSkips(attributes []string) (skips []string) {
	for _, a := range attributes {
		switch {
		case rustIgnore().MatchString(a):
			skips = append(skips, "#[ignore]")
		case rustNever().MatchString(a):
			skips = append(skips, "#[cfg]")
		}
	}
	return skips
}
