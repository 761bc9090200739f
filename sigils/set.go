package sigils

import (
	"slices"
	"strings"
	"unicode"
)

// Set is what the text of an agent amounts to. The zero Set means that no sigil
// was found. Done and Failed are never both true, nor are Complete and Failure,
// nor VerifyPass and VerifyFail.
type Set struct {
	Done       bool   // The assigned task is done; wins over Failed.
	Failed     bool   // The assigned task cannot be done.
	FailReason string // The reason given with the last task-failed, or "".

	NextModel string // The last model asked for, or "". It is not checked against any list.

	Journal   string      // All notes in order, separated by blank lines.
	Knowledge []Knowledge // The first 20 entries in order.
	Dropped   int         // Knowledge entries beyond those.

	Complete bool // The agent promised COMPLETE.
	Failure  bool // The agent promised FAILURE; wins over Complete.

	VerifyPass   bool   // The verdict is good.
	VerifyFail   bool   // The verdict is bad; wins over VerifyPass.
	VerifyReason string // The reason given with the last verify-fail, or "".

	// Foreign holds well-formed task-done and task-failed sigils whose ID is not
	// the assigned one. They count for nothing; they are here to be warned about.
	// At most 8 distinct ones are kept.
	Foreign []Foreign
}

// Knowledge is one thing the agent wants later agents to know.
type Knowledge struct {
	Title string   // The title attribute, or the body's first line when there is none.
	Tags  []string // Trimmed, without empty ones.
	Body  string
}

// Foreign is a sigil about a task that was not assigned.
type Foreign struct {
	Tag string // "task-done" or "task-failed".
	ID  string
}

// found collects sigils of one stretch of text in order. Unlike a Set it is
// unresolved, so that stretches can be put together or thrown away.
type found struct {
	done, failed      bool
	complete, failure bool
	pass, fail        bool
	failReason        string
	verifyReason      string
	model             string
	notes             []string
	noteBytes         int
	knowledge         []Knowledge
	dropped           int
	foreign           []Foreign
}

// merge adds what was found later.
func (f *found) merge(later *found) {
	f.done = f.done || later.done
	f.complete = f.complete || later.complete
	f.failure = f.failure || later.failure
	f.pass = f.pass || later.pass
	if later.failed {
		f.failed, f.failReason = true, later.failReason
	}
	if later.fail {
		f.fail, f.verifyReason = true, later.verifyReason
	}
	if later.model != "" {
		f.model = later.model
	}
	for _, note := range later.notes {
		f.addNote(note)
	}
	for _, k := range later.knowledge {
		f.addKnowledge(k)
	}
	f.dropped += later.dropped
	for _, x := range later.foreign {
		f.addForeign(x)
	}
}

func (f *found) addNote(note string) {
	note = cut(note, maxBody-f.noteBytes)
	if note == "" {
		return
	}
	f.notes = append(f.notes, note)
	f.noteBytes += len(note) + len(noteSeparator)
}

func (f *found) addKnowledge(k Knowledge) {
	if len(f.knowledge) == maxKnowledge {
		f.dropped++
		return
	}
	f.knowledge = append(f.knowledge, k)
}

func (f *found) addForeign(x Foreign) {
	if len(f.foreign) < maxForeign && !slices.Contains(f.foreign, x) {
		f.foreign = append(f.foreign, x)
	}
}

// set resolves contradictions.
func (f *found) set() Set {
	s := Set{
		Done:         f.done,
		Failed:       f.failed && !f.done,
		NextModel:    f.model,
		Journal:      strings.Join(f.notes, noteSeparator),
		Knowledge:    slices.Clone(f.knowledge),
		Dropped:      f.dropped,
		Complete:     f.complete && !f.failure,
		Failure:      f.failure,
		VerifyPass:   f.pass && !f.fail,
		VerifyFail:   f.fail,
		VerifyReason: f.verifyReason,
		Foreign:      slices.Clone(f.foreign),
	}
	if s.Failed {
		s.FailReason = f.failReason
	}
	return s
}

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
