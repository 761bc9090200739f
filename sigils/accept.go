package sigils

import (
	"strings"
	"unicode"
)

// accept adds one complete sigil and says whether it was well-formed. body is
// what stood between the tags, untrimmed.
func (f *found) accept(t tag, body, taskID string) bool {
	body = cut(strings.TrimSpace(body), maxBody)
	switch t.name {
	case tagDone:
		return f.acceptTask(t.name, body, taskID, func() { f.done = true })
	case tagFailed:
		return f.acceptFailed(t, body, taskID)
	case tagModel:
		if !validModel(body) {
			return false
		}
		f.model = body
		return true
	case tagPromise:
		f.complete = f.complete || body == "COMPLETE"
		f.failure = f.failure || body == "FAILURE"
		return body == "COMPLETE" || body == "FAILURE"
	case tagJournal:
		f.addNote(body)
		return body != ""
	case tagKnowledge:
		return f.acceptKnowledge(t, body)
	case tagVerifyPass:
		f.pass = f.pass || body == ""
		return body == ""
	case tagVerifyFail:
		f.fail, f.verifyReason = true, body
		return true
	}
	return false
}

func (f *found) acceptTask(name, id, taskID string, accept func()) bool {
	switch {
	case !validID(id):
		return false
	case id == taskID:
		accept()
	default:
		f.addForeign(Foreign{name, id})
	}
	return true
}

func (f *found) acceptFailed(t tag, body, taskID string) bool {
	id, reason := t.id, body
	if id == "" {
		id, reason = splitReason(body)
	}
	return f.acceptTask(t.name, id, taskID, func() { f.failed, f.failReason = true, reason })
}

// splitReason cuts "ID: reason", "ID reason" and "ID" in two.
func splitReason(body string) (id, reason string) {
	i := strings.IndexFunc(body, func(r rune) bool { return r == ':' || unicode.IsSpace(r) })
	if i < 0 {
		return body, ""
	}
	reason = strings.TrimSpace(body[i:])
	return body[:i], strings.TrimSpace(strings.TrimPrefix(reason, ":"))
}

func (f *found) acceptKnowledge(t tag, body string) bool {
	if body == "" {
		return false
	}
	k := Knowledge{Title: strings.TrimSpace(t.title), Body: body}
	if k.Title == "" {
		// A lesson without a title is still a lesson.
		first, _, _ := strings.Cut(body, "\n")
		k.Title = strings.TrimSpace(cut(strings.TrimLeft(first, "# "), maxName))
	}
	for name := range strings.SplitSeq(t.tags, ",") {
		if name = strings.TrimSpace(name); name != "" {
			k.Tags = append(k.Tags, name)
		}
	}
	f.addKnowledge(k)
	return true
}
