package taskfile

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"ralph/dag"
	"ralph/internal/lazyregexp"
	"ralph/internal/plain"
)

// nameOrigins gives each task the name by which a later import of the same file finds it again: its own in the other program, or,
// where tasks have none, the titles that lead to it.
func (d *draft) nameOrigins(format Format) {
	byRef, used := d.byRef(), map[string]int{}
	var path func(i, depth int) string
	path = func(i, depth int) string {
		s := d.specs[i]
		if p, ok := byRef[s.Parent]; ok && depth < maxNested {
			return path(p, depth+1) + "/" + plain.OneLine(s.Title)
		}
		return plain.OneLine(s.Title)
	}
	for i := range d.specs {
		s := &d.specs[i]
		name := s.Origin
		if name == "" && (s.Ref == "" || s.Ref == lineRef(s.Line)) {
			name = path(i, 0)
		} else if name == "" {
			name = s.Ref
		}
		if used[name]++; used[name] > 1 {
			name = fmt.Sprintf("%s (%d)", name, used[name])
		}
		s.Origin = string(format) + ":" + shortened(name)
	}
}

// Unique says that no other task of the same program has that origin, whichever file it is in: issues have a repository, and IDs of beads
// are random.
func Unique(origin string) bool {
	return strings.HasPrefix(origin, string(GitHub)+":") || strings.HasPrefix(origin, string(Beads)+":")
}

var issueOrigin = lazyregexp.New(`^` + string(GitHub) + `:([\w.-]+(?:/[\w.-]+)+)#(\d{1,9})$`)

// IssueOf is the issue that a task comes from: its repository, OWNER/NAME, and its number, which is 0 for all other origins. An issue
// that was imported without its address has no repository, so nobody knows where it is.
func IssueOf(origin string) (repository string, number int) {
	m := issueOrigin.Get().FindStringSubmatch(origin)
	if m == nil {
		return "", 0
	}
	number, _ = strconv.Atoi(m[2]) // it has at most nine digits
	return m[1], number
}

// shortened keeps a name short enough to be stored, and unlike others.
func shortened(name string) string {
	const limit = 200
	name = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, name)
	if len(name) <= limit {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return strings.ToValidUTF8(name[:limit-20], "") + " " + hex.EncodeToString(sum[:8])
}

// labels takes a list of labels, texts or objects with a name, as tags.
func (o object) labels() (tags []string) {
	for _, text := range o.texts("labels") {
		if strings.HasPrefix(text, "{") {
			if label, ok := o.draft.object(o.line, []byte(text)); ok {
				text = label.text("name")
			}
		}
		tag := strings.ReplaceAll(strings.ReplaceAll(plain.OneLine(text), ",", "-"), " ", "-")
		if tag == "" || dag.CheckTags([]string{tag}) != nil {
			o.draft.lose(o.line, "labels")
			continue
		}
		tags = append(tags, tag)
	}
	return tags
}
