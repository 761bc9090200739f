package sigils

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"ralph/internal/plain"
)

// Set is what the text of an agent amounts to. The zero Set means that no sigil
// was found. Done and Failed are never both true, nor are Complete and Failure,
// nor VerifyPass and VerifyFail.
type Set struct {
	Done       bool   // The assigned task is done; wins over Failed.
	Failed     bool   // The assigned task cannot be done.
	FailReason string // The reason given with the last task-failed, or "".

	BlockedOn string // The task that has to be done first, or ""; neither Done nor Failed is true then.
	Split     bool   // The agent added subtasks: the task is done, except for those.
	Closing   bool   // With Split: the task's own gates are for a last subtask.

	NextModel string // The last model asked for, or "". It is not checked against any list.

	Journal   string      // All notes in order, separated by blank lines.
	Knowledge []Knowledge // The first 20 entries in order.
	Dropped   int         // Knowledge entries beyond those.

	Complete bool // The agent promised COMPLETE.
	Failure  bool // The agent promised FAILURE; wins over Complete.

	VerifyPass   bool   // The verdict is good.
	VerifyFail   bool   // The verdict is bad; wins over VerifyPass.
	VerifyReason string // The reason given with the last verify-fail, or "".

	Fulfilled string // Where the task was fulfilled before the work, as the last verify-fulfilled says, or "".

	MergeDropped string // Why what landed is not in the work after a conflict was resolved, as the last merge-dropped says, or "".

	Asked    []Answer // Changes that the task asks for, each with the sentence that does.
	Weakened []Answer // Changes that weaken a check, each with how.

	Findings []Finding // The first 20 in order.
	Proven   []Proven  // The first 100 criteria that are met, in order.
	Witness  Witness   // The last one; the zero Witness means that there is none.

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

// Answer is what a verifier says of some changes, which are known by number.
type Answer struct {
	Changes []Range
	Text    string
}

// Range is the numbers from From to To, both included.
type Range struct{ From, To int }

// Finding is what a reviewer has to say about a place, or a verifier about something that is missing.
type Finding struct {
	File  string
	Line  int // 0 if none is named
	Text  string
	Title string // "" if it has none
}

// Proven is what a verifier says about a criterion that is met.
type Proven struct{ Criterion, Text string }

// Witness is a file that checks a task, and the command that runs it.
type Witness struct{ File, Run, Text string }

// Foreign is a sigil about a task that was not assigned.
type Foreign struct {
	Tag string // "task-done" or "task-failed".
	ID  string
}

// found collects sigils of one stretch of text in order. Its Set is unresolved, so
// that stretches can be put together or thrown away: Done and Failed may both be true.
type found struct {
	Set
	notes     []string
	noteBytes int
}

// merge adds what was found later.
func (f *found) merge(later *found) {
	f.Done = f.Done || later.Done
	f.Complete = f.Complete || later.Complete
	f.Failure = f.Failure || later.Failure
	f.VerifyPass = f.VerifyPass || later.VerifyPass
	if later.Failed {
		f.Failed, f.FailReason = true, later.FailReason
	}
	if later.VerifyFail {
		f.VerifyFail, f.VerifyReason = true, later.VerifyReason
	}
	f.NextModel = cmp.Or(later.NextModel, f.NextModel)
	f.Fulfilled = cmp.Or(later.Fulfilled, f.Fulfilled)
	f.MergeDropped = cmp.Or(later.MergeDropped, f.MergeDropped)
	for _, note := range later.notes {
		f.addNote(note)
	}
	for _, k := range later.Knowledge {
		f.addKnowledge(k)
	}
	f.Dropped += later.Dropped
	f.Asked, f.Weakened = atMost(maxAnswers, f.Asked, later.Asked...), atMost(maxAnswers, f.Weakened, later.Weakened...)
	f.Findings = atMost(maxFindings, f.Findings, later.Findings...)
	f.Proven = atMost(maxAnswers, f.Proven, later.Proven...)
	f.Witness = cmp.Or(later.Witness, f.Witness)
	for _, x := range later.Foreign {
		f.addForeign(x)
	}
}

func (f *found) addNote(note string) {
	note = plain.Head(note, maxBody-f.noteBytes)
	if note == "" {
		return
	}
	f.notes = append(f.notes, note)
	f.noteBytes += len(note) + len(noteSeparator)
}

func (f *found) addKnowledge(k Knowledge) {
	if len(f.Knowledge) == MaxKnowledge {
		f.Dropped++
		return
	}
	f.Knowledge = append(f.Knowledge, k)
}

// atMost appends as many as there is space for.
func atMost[T any](most int, list []T, later ...T) []T {
	return append(list, later[:min(len(later), most-len(list))]...)
}

func (f *found) addForeign(x Foreign) {
	if len(f.Foreign) < maxForeign && !slices.Contains(f.Foreign, x) {
		f.Foreign = append(f.Foreign, x)
	}
}

// resolve settles contradictions.
func (f *found) resolve() Set {
	s := f.Set
	if s.Done || !s.Failed {
		s.Failed, s.FailReason = false, ""
	}
	s.Complete = s.Complete && !s.Failure
	s.VerifyPass = s.VerifyPass && !s.VerifyFail
	s.Journal = strings.Join(f.notes, noteSeparator)
	s.Knowledge, s.Foreign, s.Findings = slices.Clone(f.Knowledge), slices.Clone(f.Foreign), slices.Clone(f.Findings)
	s.Proven = slices.Clone(f.Proven)
	s.Asked, s.Weakened = slices.Clone(f.Asked), slices.Clone(f.Weakened)
	return s
}

// Join adds what an agent reported by a tool to what it said. Both have the same weight; where they disagree, failed
// wins.
func (s Set) Join(r Set) Set {
	f, later := found{Set: s}, found{Set: r}
	f.addNote(s.Journal)
	later.addNote(r.Journal)
	f.merge(&later)
	failed, reason := f.Failed, f.FailReason
	out := f.resolve()
	out.BlockedOn, out.Split, out.Closing = cmp.Or(r.BlockedOn, s.BlockedOn), s.Split || r.Split, s.Closing || r.Closing
	switch {
	case failed:
		out.Done, out.Failed, out.FailReason, out.BlockedOn = false, true, reason, ""
	case out.BlockedOn != "":
		out.Done = false
	}
	return out
}

// accept adds one complete sigil and says whether it was well-formed. body is
// what stood between the tags, untrimmed.
func (f *found) accept(t tag, body, taskID string) bool {
	body = plain.Head(strings.TrimSpace(body), maxBody)
	switch t.name {
	case tagDone:
		return f.acceptTask(t.name, body, taskID, func() { f.Done = true })
	case tagFailed:
		return f.acceptFailed(t, body, taskID)
	case tagModel:
		if !ValidModel(body) {
			return false
		}
		f.NextModel = body
		return true
	case tagPromise:
		f.Complete = f.Complete || body == "COMPLETE"
		f.Failure = f.Failure || body == "FAILURE"
		return body == "COMPLETE" || body == "FAILURE"
	case tagJournal:
		f.addNote(body)
		return body != ""
	case tagKnowledge:
		return f.acceptKnowledge(t, body)
	case tagVerifyPass:
		f.VerifyPass = f.VerifyPass || body == ""
		return body == ""
	case tagVerifyFail:
		f.VerifyFail, f.VerifyReason = true, body
		return true
	case tagFulfilled:
		f.Fulfilled = cmp.Or(body, f.Fulfilled)
		return body != ""
	case tagDropped:
		f.MergeDropped = cmp.Or(body, f.MergeDropped)
		return body != ""
	case tagAsked:
		if t.attr["changes"] == "" || body == "" {
			return false
		}
		f.Asked = atMost(maxAnswers, f.Asked, t.answer(body))
		return true
	case tagWeakened:
		f.Weakened = atMost(maxAnswers, f.Weakened, t.answer(body))
		return true
	case tagFinding:
		if body == "" {
			return false
		}
		line, _ := strconv.Atoi(strings.TrimSpace(t.attr["line"]))
		f.Findings = atMost(maxFindings, f.Findings, Finding{
			strings.TrimSpace(t.attr["file"]), max(line, 0), plain.Head(body, maxFinding), strings.TrimSpace(t.attr["title"]),
		})
		return true
	case tagProven:
		id := strings.ToUpper(strings.TrimSpace(t.attr["criterion"]))
		if id == "" || body == "" {
			return false
		}
		f.Proven = atMost(maxAnswers, f.Proven, Proven{strings.Clone(id), strings.Clone(strings.TrimSpace(plain.Head(body, maxAnswer)))})
		return true
	case tagWitness:
		w := Witness{strings.TrimSpace(t.attr["file"]), strings.TrimSpace(t.attr["run"]), body}
		if w.File == "" || w.Run == "" || body == "" {
			return false
		}
		f.Witness = w
		return true
	}
	return false
}

func (t tag) answer(body string) Answer {
	changes, _ := parseRanges(t.attr["changes"])
	return Answer{changes, strings.Clone(strings.TrimSpace(plain.Head(body, maxAnswer)))}
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
	id, reason := t.attr["id"], body
	if id == "" {
		id, reason = splitReason(body)
	}
	return f.acceptTask(t.name, id, taskID, func() { f.Failed, f.FailReason = true, reason })
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
	k := Knowledge{Title: strings.TrimSpace(t.attr["title"]), Body: body}
	if k.Title == "" {
		// A lesson without a title is still a lesson.
		first, _, _ := strings.Cut(body, "\n")
		k.Title = strings.TrimSpace(plain.Head(strings.TrimLeft(first, "# "), maxName))
	}
	for name := range strings.SplitSeq(t.attr["tags"], ",") {
		if name = strings.TrimSpace(name); name != "" {
			k.Tags = append(k.Tags, name)
		}
	}
	f.addKnowledge(k)
	return true
}
