package taskfile

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"ralph/dag"
)

// readGitHub reads what "gh issue list --json" prints: a list, or one issue a line
// after --jq '.[]'. The newest issue comes first there; the oldest does here.
func readGitHub(data []byte) (Plan, error) {
	d := &draft{}
	list, err := d.objects(data)
	if err != nil {
		return Plan{}, err
	}
	for _, o := range list {
		s, ok := o.issue()
		if !ok {
			continue
		}
		if err := d.add(s); err != nil {
			return Plan{}, err
		}
	}
	slices.SortStableFunc(d.specs, byNumber)
	return d.plan()
}

func (o object) issue() (dag.Spec, bool) {
	s := dag.Spec{Line: o.line, Title: o.text("title")}
	number := o.text("number")
	if s.Title == "" && number == "" {
		o.draft.fault(o.line, "neither number nor title: this is not an issue of gh issue list")
		return s, false
	}
	if number != "" {
		if n, err := strconv.ParseInt(number, 10, 64); err != nil || n < 1 {
			o.draft.fault(o.line, "number is %s, not that of an issue", cut(number, 40))
			return s, false
		}
		s.Ref = "#" + number
	}
	if o.take("pull_request") != nil {
		o.draft.lose(o.line, "pull requests")
		return s, false
	}
	body, url := o.text("body"), o.text("url", "html_url")
	s.Description = paragraphs(body, origin(s.Ref, url))
	state, closed := strings.ToLower(o.text("state")), o.yes("closed")
	if state == "closed" || state == "" && closed {
		s.Status = dag.Done
	} else if state != "" && state != "open" {
		o.draft.lose(o.line, "state %s: it is pending", cut(state, 40))
	}
	if reason := strings.ToLower(o.text("stateReason", "state_reason")); s.Status == dag.Done && reason != "" && reason != "completed" {
		o.draft.lose(o.line, "closed as %s: it counts as done", cut(reason, 40))
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
	waits     = regexp.MustCompile(`(?i)(?:\b(not|no longer|isn't|never)\s+)?\b(?:depends\s+on|blocked\s+by)\b[\s:*_+-]*(?:\[[ x]\]\s+)?`)
	reference = regexp.MustCompile(`^\[?(?:([\w.-]+/[\w.-]+)?#(\d{1,9})\b|(https?://[^\s)\]]+)/issues/(\d{1,9})\b)\]?`)
	inLine    = regexp.MustCompile(`^(?i:[ \t]*[,;&][ \t]*(?:and[ \t]+)?|[ \t]+and[ \t]+|[ \t]+)`)
	inList    = regexp.MustCompile(`^(?i:[^\n]*\n[ \t]*[-*+][ \t]+(?:\[[ x]\][ \t]+)?)`)
	unsaid    = regexp.MustCompile("(?s)<!--.*?(?:-->|$)|~~[^\n]*?~~|`[^`\n]+`")
)

// dependencies finds what an issue says that it waits for, outside of code, quotes
// and comments. What is in another repository keeps its whole name.
func dependencies(body, url string) []string {
	body = unsaid.ReplaceAllString(said(body), " ")
	home, _, _ := strings.Cut(url, "/issues/")
	var found []string
	seen := map[string]bool{}
	for _, at := range waits.FindAllStringSubmatchIndex(body, -1) {
		if at[2] >= 0 {
			continue // it says that it does not
		}
		between := inLine
		if strings.Contains(body[at[0]:at[1]], "\n") {
			between = inList // "Depends on:" above a list
		}
		for rest := body[at[1]:]; ; {
			m := reference.FindStringSubmatch(rest)
			if m == nil {
				break
			}
			name := "#" + m[2]
			switch {
			case m[4] != "" && m[3] == home:
				name = "#" + m[4]
			case m[4] != "":
				name = fmt.Sprintf("%s/issues/%s", m[3], m[4])
			case m[1] != "" && !strings.HasSuffix(home, "/"+m[1]):
				name = m[1] + name
			}
			if !seen[name] {
				found = append(found, name)
			}
			seen[name] = true
			rest = rest[len(m[0]):]
			gap := between.FindString(rest)
			if gap == "" {
				break
			}
			rest = rest[len(gap):]
		}
	}
	return found
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

func byNumber(x, y dag.Spec) int {
	return cmp.Compare(issueNumber(x.Ref), issueNumber(y.Ref))
}

func issueNumber(ref string) int64 {
	n, _ := strconv.ParseInt(strings.TrimPrefix(ref, "#"), 10, 64) // none is 0, and first
	return n
}
