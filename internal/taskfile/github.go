package taskfile

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"ralph/dag"
	"ralph/internal/bounded"
	"ralph/internal/lazyregexp"
	"ralph/internal/plain"
)

// readGitHub reads what "gh issue list --json" prints: a list, or one issue a line
// after --jq '.[]'. The newest issue comes first there; the oldest does here.
func (d *draft) readGitHub(data []byte) error {
	_, err := d.objects(data, object.issue)
	slices.SortStableFunc(d.specs, func(x, y dag.Spec) int { return cmp.Compare(issueNumber(x.Ref), issueNumber(y.Ref)) })
	return err
}

func (o object) issue() (dag.Spec, bool) {
	s := dag.Spec{Line: o.line, Detail: dag.Detail{Title: o.text("title")}}
	number := o.text("number")
	if s.Title == "" && number == "" {
		o.draft.fault(o.line, "neither number nor title: this is not an issue of gh issue list")
		return s, false
	}
	if number != "" {
		if n, err := strconv.ParseInt(number, 10, 64); err != nil || n < 1 {
			o.draft.fault(o.line, "number is %s, not that of an issue", plain.Cut(number, 40))
			return s, false
		}
		s.Ref = "#" + number
	}
	if o.take("pull_request") != nil {
		o.draft.lose(o.line, "pull requests")
		return s, false
	}
	s.Tags = o.labels()
	body, url := o.text("body"), o.text("url", "html_url")
	if home, _, is := strings.Cut(url, "/issues/"); is && number != "" {
		parts := strings.Split(home, "/")
		s.Origin = strings.Join(parts[max(len(parts)-2, 0):], "/") + s.Ref
	}
	s.Description = paragraphs(body, origin(s.Ref, url))
	state, closed := strings.ToLower(o.text("state")), o.yes("closed")
	if state == "closed" || state == "" && closed {
		s.Status = dag.Done
	} else if state != "" && state != "open" {
		o.draft.lose(o.line, "state %s: it is pending", plain.Cut(state, 40))
	}
	switch reason := strings.ToLower(o.text("stateReason", "state_reason")); {
	case s.Status != dag.Done, reason == "", reason == "completed":
	case reason == "not_planned", reason == "duplicate":
		s.Status, s.Satisfied = dag.Cancelled, true // a closed issue blocks nothing there
	default:
		o.draft.lose(o.line, "closed as %s: it counts as done", plain.Cut(reason, 40))
	}
	for _, name := range dependencies(body, url) {
		if name != s.Ref {
			s.After = append(s.After, name)
		}
	}
	o.forget("id", "createdAt", "updatedAt", "closedAt")
	o.loseRest()
	return s, true
}

var (
	waits     = lazyregexp.New(`\b(?i:depends\s+on|blocked\s+by)\b[\s:*_+-]*(?:\[[ xX]\]\s+)?`)
	denied    = lazyregexp.New(`(?i)\b(?:not|no longer|isn't|never)\s+$`)
	reference = lazyregexp.New(`^\[?(?:([\w.-]+/[\w.-]+)?#(\d{1,9})\b|(https?://[^\s)\]]+)/issues/(\d{1,9})\b)\]?`)
	inLine    = lazyregexp.New(`^(?i:[ \t]*[,;&][ \t]*(?:and[ \t]+)?|[ \t]+and[ \t]+|[ \t]+)`)
	inList    = lazyregexp.New(`^[^\n]*\n[ \t]*[-*+][ \t]+(?:\[[ xX]\][ \t]+)?`)
	unsaid    = lazyregexp.New("(?s)<!--.*?(?:-->|$)|~~[^\n]*?~~|`[^`\n]+`")
)

// dependencies finds what an issue says that it waits for, outside of code, quotes
// and comments. What is in another repository keeps its whole name.
func dependencies(body, url string) []string {
	lower := strings.ToLower(body) // because the pattern alone is slow on long texts
	if len(body) > bounded.Form || !strings.Contains(lower, "depends") && !strings.Contains(lower, "blocked") {
		return nil
	}
	body = unsaid.Get().ReplaceAllString(said(body), " ")
	home, _, _ := strings.Cut(url, "/issues/")
	var found []string
	seen := map[string]bool{}
	for _, at := range waits.Get().FindAllStringIndex(body, -1) {
		if denied.Get().MatchString(body[max(at[0]-20, 0):at[0]]) {
			continue
		}
		between := inLine
		if strings.Contains(body[at[0]:at[1]], "\n") {
			between = inList // "Depends on:" above a list
		}
		for rest := body[at[1]:]; ; {
			m := reference.Get().FindStringSubmatch(rest)
			if m == nil {
				break
			}
			if name := issueName(m, home); !seen[name] {
				seen[name] = true
				found = append(found, name)
			}
			rest = rest[len(m[0]):]
			gap := between.Get().FindString(rest)
			if gap == "" {
				break
			}
			rest = rest[len(gap):]
		}
	}
	return found
}

// issueName is what a reference is called in a list of issues of that repository.
func issueName(m []string, home string) string {
	repository, number, address, there := m[1], m[2], m[3], m[4]
	switch {
	case there != "" && address == home:
		return "#" + there
	case there != "":
		return address + "/issues/" + there
	case repository != "" && !strings.HasSuffix(home, "/"+repository):
		return repository + "#" + number
	default:
		return "#" + number
	}
}

// said leaves out code and quoted lines.
func said(body string) string {
	var b strings.Builder
	outsideCode(body, func(line string) {
		if !strings.HasPrefix(strings.TrimLeft(line, " \t"), ">") {
			b.WriteString(line)
		}
	})
	return b.String()
}

func issueNumber(ref string) int64 {
	n, _ := strconv.ParseInt(strings.TrimPrefix(ref, "#"), 10, 64) // none is 0, and first
	return n
}
