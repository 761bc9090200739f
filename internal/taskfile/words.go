package taskfile

import (
	"strconv"
	"strings"
)

// paragraphs puts what there is of a description together.
func paragraphs(parts ...string) string {
	var kept []string
	for _, p := range parts {
		if p = strings.Trim(p, "\n"); strings.TrimSpace(p) != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, "\n\n")
}

func section(title, text string) string {
	if text == "" {
		return ""
	}
	return title + ":\n" + text
}

func bullets(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return "- " + strings.Join(list, "\n- ")
}

// priority takes a number, or one of the words that people use for one.
func (o object) priority() int64 {
	raw := o.take("priority")
	if raw == nil {
		return 0
	}
	text, _ := scalar(raw)
	if n, ok := rank(text); ok {
		return n
	}
	o.draft.lose(o.line, "priority %s", cut(compact(raw), 40))
	return 0
}

func rank(text string) (int64, bool) {
	text = strings.ToLower(strings.TrimSpace(text))
	if n, ok := map[string]int64{"critical": 0, "urgent": 0, "high": 1, "medium": 2, "normal": 2, "low": 3, "lowest": 4}[text]; ok {
		return n, true
	}
	if number, ok := strings.CutPrefix(text, "p"); ok && len(number) == 1 {
		text = number
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil
}
