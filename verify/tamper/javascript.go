package tamper

import (
	"math"
	"slices"
	"strings"

	"ralph/internal/lazyregexp"
)

var (
	// A call of a test or of a group of tests, up to its first bracket.
	jsCall = lazyregexp.New("(?:^|[^\\w$.])((?:[xf]?(?:it|test|specify|describe|context|suite))((?:\\.\\w+)*))\\s*(?:<[^()`]*>)?\\s*[(`]")
	jsBody = lazyregexp.New(`(?:^|[^\w$.])((?:this|t|ctx|context|testContext)\.(?:skip|todo))\s*\(`)
	jsOpt  = lazyregexp.New(`[{,]\s*(skip|todo|only)\s*(?:[,}]|:\s*([^\s,}]+))`)
)

// jsSkips keep a test from running, or from counting when it fails.
var jsSkips = []string{"skip", "todo", "fixme", "failing", "fails", "fail", "skipIf", "runIf", "todoIf"}

// jsModifiers may follow a test or a group; after any other name it is something
// else, such as test.beforeEach.
var jsModifiers = append([]string{"only", "each", "for", "concurrent", "sequential", "serial", "parallel", "shuffle"}, jsSkips...)

// jsBlock is a test or a group of tests.
type jsBlock struct {
	start, end int
	group      bool
	test       test
}

func (s *suite) parseJavaScript(text, code string) {
	var blocks []jsBlock
	var loose []jsSkip
	closes := brackets(code)
	for at := 0; at < len(code); {
		m := jsCall().FindStringSubmatchIndex(code[at:])
		if m == nil {
			break
		}
		head, dots, bracket := code[at+m[2]:at+m[3]], code[at+m[4]:at+m[5]], at+m[1]-1
		start := at + m[2]
		at = bracket // an argument may be a call, too
		b, how, is := s.jsBlock(text, code, closes, head, strings.FieldsFunc(dots, func(r rune) bool { return r == '.' }), bracket)
		switch {
		case is:
			b.start = start
			blocks = append(blocks, b)
		case how != "":
			loose = append(loose, jsSkip{start, how})
		}
	}
	for _, m := range jsBody().FindAllStringSubmatchIndex(code, -1) {
		loose = append(loose, jsSkip{m[2], code[m[2]:m[3]]})
	}
	s.jsGather(blocks, loose)
}

// jsSkip is a call that skips the test that it is in.
type jsSkip struct {
	at  int
	how string
}

// jsBlock reads one call. If it is no block, how says whether it is a skip in one.
func (s *suite) jsBlock(text, code string, closes []int32, head string, dots []string, bracket int) (b jsBlock, how string, is bool) {
	name, _, _ := strings.Cut(head, ".")
	base := strings.TrimLeft(name, "xf")
	b.group = base == "describe" || base == "context" || base == "suite"
	if len(dots) > 0 && dots[0] == "describe" { // test.describe
		b.group, dots = true, dots[1:]
	}
	for _, dot := range dots {
		if !slices.Contains(jsModifiers, dot) {
			return b, "", false
		}
	}
	if slices.ContainsFunc(dots, func(d string) bool { return d == "each" || d == "for" || strings.HasSuffix(d, "If") }) {
		bracket = jsSecond(code, closes, bracket) // the first held the table or the condition
	}
	if bracket >= len(code) || code[bracket] != '(' {
		return b, "", false
	}
	arg := skipSpace(code, bracket+1)
	skip := slices.IndexFunc(dots, func(d string) bool { return slices.Contains(jsSkips, d) })
	literal := arg < len(code) && strings.IndexByte("'\"`", code[arg]) >= 0
	if skip >= 0 && !literal && !b.group {
		return b, head, false // test.skip(condition, reason)
	}
	b.end = int(closes[bracket])
	var options string
	b.test.name, options = jsArguments(text, code, closes, arg, b.end)
	if skip >= 0 || strings.HasPrefix(name, "x") {
		b.test.skips = []string{head}
	}
	if strings.HasPrefix(name, "f") || slices.Contains(dots, "only") {
		s.silencers = append(s.silencers, head)
	}
	for _, m := range jsOpt().FindAllStringSubmatch(options, 3) {
		switch {
		case m[2] == "false" || m[2] == "undefined":
		case m[1] == "only":
			s.silencers = append(s.silencers, "only: true")
		default:
			b.test.skips = append(b.test.skips, m[1]+": true")
		}
	}
	return b, "", true
}

func jsSecond(code string, closes []int32, first int) int {
	if first < len(code) && code[first] == '`' {
		if end := strings.IndexByte(code[first+1:], '`'); end >= 0 {
			return skipSpace(code, first+1+end+1)
		}
		return len(code)
	}
	return skipSpace(code, int(closes[first])+1)
}

func jsArguments(text, code string, closes []int32, arg, end int) (name, options string) {
	if arg >= end {
		return "", ""
	}
	const most = 200 // of a name, and of options
	after := min(end, arg+most)
	if quote := code[arg]; strings.IndexByte("'\"`", quote) >= 0 {
		if n := strings.IndexByte(code[arg+1:after], quote); n >= 0 {
			after = arg + 1 + n
		}
		name = text[arg+1 : after]
		after++
	} else {
		if n := strings.IndexAny(code[arg:after], ",\n"); n >= 0 {
			after = arg + n
		}
		name = strings.TrimSpace(text[arg:after])
	}
	after = skipSpace(code, after)
	if after < end && code[after] == ',' {
		if after = skipSpace(code, after+1); after < end && code[after] == '{' {
			options = code[after:min(int(closes[after])+1, end, after+most)]
		}
	}
	return name, options
}

func skipSpace(code string, i int) int {
	return len(code) - len(strings.TrimLeft(code[min(i, len(code)):], " \t\r\n"))
}

// jsGather hands what skips a group down to its tests, and what skips in a test up
// to it. Blocks are in the order in which they begin, and so are skips after a sort.
func (s *suite) jsGather(blocks []jsBlock, loose []jsSkip) {
	slices.SortFunc(loose, func(a, b jsSkip) int { return a.at - b.at })
	var open []int // the blocks that we are in
	next := 0
	leave := func(at int) {
		for len(open) > 0 && blocks[open[len(open)-1]].end <= at {
			open = open[:len(open)-1]
		}
	}
	give := func(limit int) {
		for ; next < len(loose) && loose[next].at < limit; next++ {
			leave(loose[next].at)
			if top := len(open) - 1; top >= 0 && !blocks[open[top]].group {
				blocks[open[top]].test.skips = append(blocks[open[top]].test.skips, loose[next].how)
			} else {
				s.silencers = append(s.silencers, loose[next].how)
			}
		}
	}
	for i := range blocks {
		give(blocks[i].start)
		leave(blocks[i].start)
		if top := len(open) - 1; top >= 0 && blocks[open[top]].group {
			group := blocks[open[top]].test.skips
			blocks[i].test.skips = append(blocks[i].test.skips, group[:min(1, len(group))]...)
		}
		open = append(open, i)
	}
	give(math.MaxInt)
	for _, b := range blocks {
		if !b.group {
			s.tests = append(s.tests, b.test)
		}
	}
}
