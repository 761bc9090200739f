// Package redact hides secret values in text that leaves the process. It never
// changes what is not text for people or records: files, terminals, git objects.
package redact

import (
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"ralph/internal/lazyregexp"
)

// Placeholder stands wherever a secret was.
const Placeholder = "[redacted]"

// minSecret is the shortest value that is hidden: shorter ones occur by chance in
// everything.
const minSecret = 6

// Redactor knows the secret values of one command or run and hides them, also as
// JSON, HTML and URLs write them, and what has the form of a well-known token or key. Its methods may be called from several goroutines.
// A nil Redactor hides nothing.
type Redactor struct {
	adding sync.Mutex
	set    atomic.Pointer[patterns] // replaced, never changed
}

// New returns a Redactor that hides the given values.
func New(values ...string) *Redactor {
	r := &Redactor{}
	r.set.Store(newPatterns(nil))
	r.Add(values...)
	return r
}

// Add makes further values secret, from now on. Values under six bytes are not
// hidden.
func (r *Redactor) Add(values ...string) {
	r.adding.Lock()
	defer r.adding.Unlock()
	known := slices.Clone(r.known().values)
	for _, value := range values {
		value = strings.TrimSpace(value)
		if len(value) < minSecret || strings.Contains(Placeholder, value) {
			continue
		}
		known = append(known, value)
	}
	slices.Sort(known)
	if known = slices.Compact(known); len(known) > len(r.known().values) {
		r.set.Store(newPatterns(known))
	}
}

// Remove takes back a value that was added and is no secret any more.
func (r *Redactor) Remove(value string) {
	if r == nil {
		return
	}
	r.adding.Lock()
	defer r.adding.Unlock()
	known := slices.DeleteFunc(slices.Clone(r.known().values), func(known string) bool { return known == strings.TrimSpace(value) })
	r.set.Store(newPatterns(known))
}

// AddEnviron makes the values of those variables secret whose names look like it, and
// the passwords in all others.
func (r *Redactor) AddEnviron(environ []string) {
	var values []string
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if LooksSecret(name) {
			values = append(values, value)
		}
		values = append(values, Passwords(value)...)
	}
	r.Add(values...)
}

// inAddress is user:password@ in an address. Digits before a sign that ends an address in a list are its port. One without a scheme
// has a port: it is neither a mail address nor the version of something.
var inAddress = lazyregexp.New(`(?i)[a-z][a-z0-9+.-]*://[^\s/?#:@"',]*:(\d+|\d*[^\s/?#"',;\d][^\s/?#"@]*(?:@[^\s/?#"',;@]*)*)@|^[^\s/:@]+:([^\s/@]+)@[^\s/:@]+:\d+/?$`)

// Passwords lists the passwords of the addresses in a text, as they stand there and decoded.
func Passwords(text string) (found []string) {
	if !strings.Contains(text, "@") {
		return nil // as almost always
	}
	for _, match := range inAddress.Get().FindAllStringSubmatch(text, -1) {
		raw := match[1] + match[2]
		found = append(found, raw)
		if decoded, err := url.PathUnescape(raw); err == nil && decoded != raw {
			found = append(found, decoded)
		}
	}
	return found
}

// variable is a line of an .env file: a value in quotes, which may have several lines, or up to a comment.
var variable = lazyregexp.New("(?m)^[ \\t]*(?:export[ \\t]+)?([\\w.-]+)(?:[ \\t]*=|:[ \\t])[ \\t]*(?:\"((?:[^\"\\\\]|\\\\.)*)\"|'([^']*)'|`([^`]*)`|(.*?)(?:[ \\t]+#.*)?$)")

// plainValue is a word, as in NODE_ENV=development, or a path: hidden, it would be missing in everything that agents read.
var plainValue = lazyregexp.New(`^(?:[A-Za-z]+(?:[-_.][A-Za-z]+)*|(?:[~.]{0,2}/[\w.-]+)+/?)$`)

// Dotenv lists the values in the text of an .env file, as they stand there and as programs read them, their lines, and the passwords in
// them. A plain value counts only if its name looks like a secret.
func Dotenv(text string) (values []string) {
	for _, match := range variable.Get().FindAllStringSubmatch(text, -1) {
		value := strings.TrimSpace(strings.Join(match[2:], ""))
		if !LooksSecret(match[1]) && plainValue.Get().MatchString(value) {
			continue
		}
		whole := strings.ReplaceAll(value, `\n`, "\n")
		values = append(values, value, whole)
		for line := range strings.SplitSeq(whole, "\n") {
			if line = strings.TrimSpace(line); !plainValue.Get().MatchString(line) {
				values = append(values, line)
			}
		}
		values = append(values, Passwords(value)...)
	}
	slices.Sort(values)
	return slices.DeleteFunc(slices.Compact(values), func(value string) bool { return len(value) < minSecret })
}

// AddArgs makes those values of a command line secret whose flags or variables look
// like it: --api-key V, --token=V, API_KEY=V.
func (r *Redactor) AddArgs(args []string) {
	for i, arg := range args {
		name, value, given := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if !given && strings.HasPrefix(arg, "-") && i+1 < len(args) {
			value = args[i+1]
		}
		if LooksSecret(name) && !strings.HasPrefix(value, "-") {
			r.Add(value)
		}
	}
}

// AddURL makes the password of an address secret, and those of its parameters that
// look like it.
func (r *Redactor) AddURL(address string) {
	u, err := url.Parse(address)
	if err != nil {
		return
	}
	if password, ok := u.User.Password(); ok {
		r.Add(password)
	}
	for name, values := range u.Query() {
		if LooksSecret(name) {
			r.Add(values...)
		}
	}
}

// Text returns s without secrets. Secrets that overlap or touch become one
// placeholder.
func (r *Redactor) Text(s string) string {
	spans := r.known().find("", s)
	if len(spans) == 0 {
		return s
	}
	var b strings.Builder
	(&Stream{}).write(&b, s, spans)
	return b.String()
}

// Bytes returns b without secrets: b itself if there are none in it.
func (r *Redactor) Bytes(b []byte) []byte {
	text := string(b)
	if clean := r.Text(text); clean != text {
		return []byte(clean)
	}
	return b
}

func (r *Redactor) known() *patterns {
	if r == nil {
		return &none
	}
	if set := r.set.Load(); set != nil {
		return set
	}
	return &none
}
