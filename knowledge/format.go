package knowledge

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// format is the inverse of parse for an entry that was tidied. The library's own
// encoder is not used: of a tag such as "a[" it makes what it cannot read.
func (e *Entry) format() []byte {
	var b strings.Builder
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%s: %s\n", name, scalar(value))
		}
	}
	b.WriteString(fence + "\n")
	line("title", e.Title)
	line("kind", string(e.Kind))
	if len(e.Tags) > 0 {
		quoted := make([]string, len(e.Tags))
		for i, tag := range e.Tags {
			quoted[i] = scalar(tag)
		}
		fmt.Fprintf(&b, "tags: [%s]\n", strings.Join(quoted, ", "))
	}
	line("feature", e.Feature)
	if !e.CreatedAt.IsZero() {
		line("created_at", e.CreatedAt.UTC().Format(time.RFC3339))
	}
	line("task", e.Task)
	line("run", e.Run)
	b.WriteString(fence + "\n\n" + e.Body + "\n")
	return []byte(b.String())
}

// scalar writes text as YAML: plain if nobody could take it for anything else,
// otherwise as JSON writes it, which is YAML too.
func scalar(text string) string {
	if isPlainScalar(text) {
		return text
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(text); err != nil {
		panic(fmt.Sprintf("knowledge: a string is not JSON: %v", err))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func isPlainScalar(text string) bool {
	for i, r := range text {
		letter := 'a' <= r|0x20 && r|0x20 <= 'z'
		if !letter && (i == 0 || !strings.ContainsRune("0123456789 _-", r)) {
			return false
		}
	}
	switch strings.ToLower(text) {
	case "", "null", "true", "false", "yes", "no", "on", "off", "y", "n":
		return false
	}
	return !strings.HasSuffix(text, " ")
}
