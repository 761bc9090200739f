// Package ratelimit recognises that a provider limits our rate, and reads from
// its words when the limit ends. It looks at what an agent reports as
// an error, or a message that is nothing but one; it never waits, and never
// decides what a limit means for a task.
package ratelimit

import (
	"slices"
	"strings"
	"time"

	"ralph/internal/lazyregexp"
)

// Limit is one that was met.
type Limit struct {
	Until  time.Time // when it is over, after now; zero if nobody said
	Reason string    // what was said, in one line
}

// Longest is how far away a reset may be: a week, and a day for clocks and zones
// that disagree. A later one is cut to it.
const Longest = 8 * 24 * time.Hour

// Limit says whether the error is a limit, and until when. A time that has passed
// counts as not given.
func (e *Evidence) Limit() (Limit, bool) {
	if !e.limited() {
		return Limit{}, false
	}
	return Limit{Until: e.until(), Reason: e.reason()}, true
}

func oneLine(text string, most int) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) <= most {
		return text
	}
	return strings.TrimSpace(strings.ToValidUTF8(text[:most], "")) + "…"
}

// meaning is what stands behind a status, if anything does.
const meaning = `(?: too many requests| overloaded| site is overloaded| <unknown status code>)?`

const (
	maxSentence = 500 // one with a link and a request ID
	maxLines    = 4
)

var (
	// What agents put before an error.
	ornament = lazily(`^(?:[\s■✗✕×⎿●⚠️🛑🖐!>*\[("'-]+|(?:sorry|error|api error|server error|backend error|request failed|model call failed|execution failed|warning|notice)\b[\s,:\])]*)+`)

	// How a message begins that is nothing but an error.
	openings = []*lazyregexp.Regexp{
		lazily(`^you(?:'ve| have)(?: now)? (?:hit|reached|exceeded|exhausted|used up|used all|run out of|been rate[ -]?limited)\b`),
		lazily(`^you(?:'re| are) (?:being rate[ -]?limited|rate[ -]?limited|out of|over)\b`),
		lazily(`^(?:claude|your|this|the|api|anthropic|openai|gemini|copilot|codex|weekly|daily|session|usage|opus|sonnet|\d+-hour)\b(?:[ '\w-]{0,40}?) (?:limit|quota|capacity|allowance)s?(?: (?:has|have|was|is|were))?(?: been)? ` + met + `\b`),
		lazily(`^(?:rate[ _-]?limit(?:ed|s)?|usage limit|too many requests|overloaded|quota|resource has been exhausted|insufficient quota|request rejected|no capacity)\b`),
		lazily(`^(?:http )?(?:429|529)\b[\s:]*(?:\{|too many|rate|overloaded|resource|$)`),
		lazily(`^\{`),
		lazily(`^(?:the|this) (?:model|server|service|api|request)\b`),
		lazily(`^this request would exceed\b`),
		lazily(`^failed to get (?:a )?response from the (?:ai )?model\b`),
		lazily(`^(?:your )?credit balance is too low\b`),
		lazily(`^exceeded retry limit, last status: (?:429|529)` + meaning + `(?:, [a-z -]{1,20}: \S+)*\W*$`),
		lazily(`^unexpected status (?:429|529)(?:[^:.\n]{0,40}:|` + meaning + `$)`),
	}

	// What one agent says each time before it tries again by itself.
	retrying = lazily(`^(?:\s*info: [^\n]{0,200}?\bretrying\.\.\.)+`)

	// What a message has that is about work, and not only about an error.
	working = lazily("\\b(?:I|I'(?:ve|ll|m|d)|we'(?:ve|ll|re)|let me|let's)\\b|`|</?[a-z-]+>|\\b(?:now|implement\\w*|added?|adds|fixed|wrote|written|test(?:s|ed|ing)?|function|method|class|endpoint|middleware|limiter|header|handler|client|clients|responses|returns?|code path|file|commit|diff|todo|task|step|done|should|example|e\\.g\\.)\\b|\\?|\\b[\\w/-]+\\.(?:go|py|ts|js|rs|java|rb|c|h|cpp|md|json|toml|ya?ml|sh|sql)\\b")
	links   = lazily(`https?://\S+`)
)

// Sentence says whether a whole message of an agent is one short error about a
// limit: some agents end a turn that way instead of reporting the error. It is
// strict, because an agent that works on a rate limiter talks about limits too;
// the caller has made sure that the turn has no tool call and no sigil.
func Sentence(message string, now time.Time) (Limit, bool) {
	text := strings.TrimSpace(typewritten(message))
	text = strings.TrimSpace(text[len(retrying.Get().FindString(text)):])
	if text == "" || len(text) > maxSentence || strings.Count(text, "\n") >= maxLines {
		return Limit{}, false
	}
	bare := links.Get().ReplaceAllString(text, "")
	bare = bare[len(ornament.Get().FindString(bare)):]
	opens := func(p *lazyregexp.Regexp) bool { return p.Get().MatchString(bare) }
	if !slices.ContainsFunc(openings, opens) || working.Get().MatchString(strings.ReplaceAll(bare, "Terms of Service", "")) {
		return Limit{}, false
	}
	return Collect(text, 0, nil, now).Limit()
}
