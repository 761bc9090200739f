// Package hooks runs the commands that people configure for points of a run, and reads what
// they answer. It never decides what becomes of an answer: who calls a point does.
package hooks

import (
	"slices"
	"strings"
)

// Point is a place in a run at which hooks are called.
type Point string

// The points at which the run waits for its hooks.
const (
	RunBefore         Point = "run.before"
	TaskBefore        Point = "task.before"   // after the claim, before the prompt
	PromptBefore      Point = "prompt.before" // the first prompt and every other
	ToolBefore        Point = "tool.before"   // an agent asks for a permission, a file or a terminal
	ToolAfter         Point = "tool.after"    // waited for when the turn is over
	TurnAfter         Point = "turn.after"
	VerifyBefore      Point = "verify.before"
	VerifyAfter       Point = "verify.after"
	MergeBefore       Point = "merge.before"
	KnowledgeSelected Point = "knowledge.selected"
	AnswerBefore      Point = "answer.before" // a person answers a question
)

// The points that are only observed: nothing waits for their hooks.
const (
	RunAfter          Point = "run.after"
	MergeAfter        Point = "merge.after"
	TaskCreated       Point = "task.created"
	TaskPaused        Point = "task.paused"
	TaskResumed       Point = "task.resumed"
	TaskCancelled     Point = "task.cancelled"
	TaskDone          Point = "task.done"
	TaskFailed        Point = "task.failed"
	PermissionDecided Point = "permission.decided"
	QuestionAsked     Point = "question.asked"
	LockTaken         Point = "lock.taken"
	LockReleased      Point = "lock.released"
	LearningStored    Point = "learning.stored"
	LimitHit          Point = "limit.hit"
	DriftSeen         Point = "drift.seen"
	AnomalySeen       Point = "anomaly.seen"
)

// Ability is something that a hook may do at a point.
type Ability string

// The abilities. A hook that has none observes.
const (
	Block   Ability = "block"     // exit status 2, or decision deny
	Decide  Ability = "decide"    // decision allow, deny or ask
	Inject  Ability = "inject"    // add text
	Replace Ability = "replace"   // put another text in its place; before a call, another input
	Result  Ability = "result"    // answer a call, so that it is not made
	Model   Ability = "model"     // choose another
	Finding Ability = "finding"   // something is wrong with the work
	Select  Ability = "knowledge" // which entries, in which order
)

// spec is a row of the table of points.
type spec struct {
	point Point
	may   []Ability
	match bool // there is a tool call to match
}

// points is the one table of what hooks may do where.
func points() []spec {
	return []spec{
		{RunBefore, []Ability{Block}, false},
		{RunAfter, nil, false},
		{TaskBefore, []Ability{Block, Inject, Model}, false},
		{PromptBefore, []Ability{Replace, Inject}, false},
		{ToolBefore, []Ability{Block, Decide, Replace, Result}, true},
		{ToolAfter, []Ability{Inject, Replace}, true},
		{TurnAfter, []Ability{Inject}, false},
		{VerifyBefore, []Ability{Block, Finding}, false},
		{VerifyAfter, []Ability{Block, Finding}, false},
		{MergeBefore, []Ability{Block}, false},
		{MergeAfter, nil, false},
		{KnowledgeSelected, []Ability{Select, Inject}, false},
		{AnswerBefore, []Ability{Block, Replace}, false},
		{TaskCreated, nil, false},
		{TaskPaused, nil, false},
		{TaskResumed, nil, false},
		{TaskCancelled, nil, false},
		{TaskDone, nil, false},
		{TaskFailed, nil, false},
		{PermissionDecided, nil, false},
		{QuestionAsked, nil, false},
		{LockTaken, nil, false},
		{LockReleased, nil, false},
		{LearningStored, nil, false},
		{LimitHit, nil, false},
		{DriftSeen, nil, false},
		{AnomalySeen, nil, false},
	}
}

func find(p Point) (spec, bool) {
	list := points()
	i := slices.IndexFunc(list, func(s spec) bool { return s.point == p })
	if i < 0 {
		return spec{}, false
	}
	return list[i], true
}

func (s spec) allows(a Ability) bool { return slices.Contains(s.may, a) }

// does says what a hook may do there, in words.
func (s spec) does() string {
	if len(s.may) == 0 {
		return "only observes"
	}
	words := make([]string, len(s.may))
	for i, a := range s.may {
		words[i] = string(a)
	}
	return "may " + strings.Join(words, ", ")
}

// Names lists the points.
func Names() []string {
	var names []string
	for _, s := range points() {
		names = append(names, string(s.point))
	}
	return names
}
