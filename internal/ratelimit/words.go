package ratelimit

import (
	"slices"
	"strconv"
	"strings"

	"ralph/internal/lazyregexp"
)

// names are what programs call these errors, squeezed.
var names = []string{
	"ratelimit", "ratelimited", "ratelimiterror", "ratelimitexceeded", "ratelimitreached", "toomanyrequests", "throttled",
	"throttling", "throttlingexception", "throttlingerror", "requestlimitexceeded", "userratelimitexceeded", "insufficientquota",
	"quotaexceeded", "quotaexhausted", "quotaerror", "resourceexhausted", "usagelimitreached", "usagelimitexceeded", "usagelimit",
	"billinghardlimitreached", "billingerror", "creditsexhausted", "insufficientcredits", "insufficientbalance", "overloaded",
	"overloadederror", "modeloverloaded", "engineoverloaded", "engineoverloadederror", "serveroverloaded", "slowdown",
	"modelcapacityexhausted",
}

// lazily ignores case: providers differ in how they write.
func lazily(pattern string) *lazyregexp.Regexp { return lazyregexp.New(`(?i)` + pattern) }

const (
	met   = `(?:reached|exceeded|hit|exhausted|used up|met|depleted|surpassed)`
	been  = `(?: (?:has|have|was|is|were|had))?(?: been)? `
	whose = `(?:usage|messages?|session|weekly|daily|monthly|hourly|\d+[- ]hours?|five[- ]hour|opus|sonnet|haiku|plan|account|spend(?:ing)?|credit|quota|requests?|api|premium requests?|free tier|subscription|concurrency|tokens?[- ]per[- ](?:min(?:ute)?|day))`
)

var (
	// By what providers and agents report a limit.
	sentences = []*lazyregexp.Regexp{
		// Too much in too short a time.
		lazily(`\brate[ _-]?limit(?:s|ing)?(?:` + been + `|[ _:-]*)(?:` + met + `|error|applied|in effect)\b`),
		lazily(`\b(?:hit|reached|exceed(?:ed|s|ing)?|over|due to|because of|by)\b(?:\s+[\w.'-]+){0,6}?\s+rate[ _-]?limit`),
		lazily(`\brate[ _-]?limited\b`),
		lazily(`\brate[ _-]?limit\b.{0,80}\b(?:try again|retry|wait|(?:tokens?|requests?) per)\b`),
		lazily(`\btoo many requests\b`),
		lazily(`\bthrottlingexception\b|\brequests? (?:is|are|was|were|has been|have been|is being|are being) (?:being )?throttled\b`),
		// An allowance that is used up.
		lazily(`\b` + whose + `(?: \w+)? (?:limit|quota|cap|allowance)s?` + been + met + `\b`),
		lazily(`\binsufficient[ _]quota\b|\b(?:have|has) no (?:remaining )?quota\b|\bout of (?:extra usage|credits)\b|\binsufficient (?:credits?|balance|funds)\b`),
		lazily(`\bcredit balance is too low\b|\bresource (?:has been )?exhausted\b|\bresource_exhausted\b`),
		// A provider that has too much to do.
		lazily(`\b(?:overloaded_error|model_overloaded|engine_overloaded|server_overloaded)\b`),
		lazily(`\b(?:is|are|currently|temporarily|servers?|models?|engine|api|service|529)\W+(?:\w+\W+){0,2}?overloaded\b`),
		lazily(`^\W*(?:error\W+)?overloaded\W*$`),
		lazily(`\bno capacity available\b|\b(?:is|are)(?: currently)? (?:at|over) capacity\b`),
		lazily(`\b(?:servers?|service|models?) (?:is|are) (?:(?:too|currently|temporarily|very) )*busy\b`),
		lazily(`\b(?:high|heavy) (?:demand|load|traffic)\b.{0,80}\b(?:try again|retry|unavailable)\b`),
	}

	// "exceeded your current quota": what stands between decides.
	yours      = lazily(`\b(?:hit|reach(?:ed)?|exceed(?:ed|s)?|exhausted|used up|used all(?: of)?|run out of|over)\s+(your|the|its|our)\s+((?:[\w.'-]+\s+){0,6}?)(limits?|quota|allowance|capacity|credits?|usage)\b`)
	spoken     = lazily(`\b` + whose + `\b|\brate\b`)
	quotaAlone = lazily(`(\w*)\s*\bquota` + been + `?(?:exceeded|exhausted|reached)\b`)

	// A status stands beside a word that says so, or at the beginning.
	statusText = lazily(`(\bexit )?(?:\bhttp(?:/[\d.]+)?|\bstatus(?:[ _]code)?|\bcode|\berror|\breturned|\bresponse|\bfailed with|^)[\s:=("'\[#]*(4\d\d|5\d\d)\b|\b(429|529)[\s:]*(?:\{|too many|overloaded|rate|resource)`)

	// Waiting does not make these smaller.
	hopeless = lazily(`\brequest too large\b|\blong context\b|\b(?:prompt|input|request) is too long\b|\bcontext[ _](?:window|length)\b|\bmaximum context\b|\blarger than max\b|\bmust be reduced\b`)
)

// elsewhere are words before "limit" and "quota" by which it is not a provider's.
var elsewhere = []string{
	"memory", "time", "size", "file", "files", "disk", "column", "line", "lines", "stack", "recursion", "depth", "context", "output",
	"character", "characters", "length", "retry", "retries", "turn", "turns", "iteration", "iterations", "storage", "user", "block",
	"inode", "upload", "nesting", "heap", "cpu", "process", "processes", "descriptor", "watch", "watches", "speed", "lower", "upper",
}

// limited says whether the evidence is for a limit.
func (e *Evidence) limited() bool {
	if hopeless.Get().MatchString(e.said) {
		return false
	}
	return e.named || e.Status == 429 || e.Status == 529 || yourLimit(e.said) || bareQuota(e.said) ||
		slices.ContainsFunc(sentences, func(p *lazyregexp.Regexp) bool { return p.Get().MatchString(e.said) })
}

// yourLimit finds "you've hit your limit", but not "exceeded the time limit".
func yourLimit(text string) bool {
	for _, m := range yours.Get().FindAllStringSubmatch(text, 8) {
		whose, between := strings.ToLower(m[1]), strings.ToLower(m[2])
		words := strings.Fields(between)
		foreign := slices.ContainsFunc(words, func(w string) bool { return slices.Contains(elsewhere, w) })
		switch {
		case foreign, strings.Contains(between, "rate"): // a rate is looked for elsewhere
		case whose == "your", spoken.Get().MatchString(between):
			return true
		}
	}
	return false
}

// bareQuota finds "quota exceeded", but not "disk quota exceeded".
func bareQuota(text string) bool {
	for _, m := range quotaAlone.Get().FindAllStringSubmatch(text, 8) {
		if !slices.Contains(elsewhere, strings.ToLower(m[1])) {
			return true
		}
	}
	return false
}

// statusIn is the HTTP status that a text names, or 0.
func statusIn(text string) int {
	found := 0
	for _, m := range statusText.Get().FindAllStringSubmatch(text, 8) {
		if m[1] != "" { // of a process
			continue
		}
		n, _ := strconv.Atoi(m[2] + m[3])
		if n == 429 || n == 529 {
			return n
		}
		if found == 0 {
			found = n
		}
	}
	return found
}
