package transcript

import (
	"ralph/event"
)

// How much of a file is read. An agent may say more in a second than anybody can
// read in an hour; then the newest of it is told, and that the rest was left out.
const (
	firstLook = 1 << 20
	eachLook  = 256 << 10
)

// Attempt follows what one attempt says, for somebody who looks at it now. Unlike
// a Reader it leaves out what is too old or too much, so that neither time nor memory
// depends on how much was said.
type Attempt struct {
	Path string // of its transcript.jsonl
	Tell func(Line)

	tail   *tail
	decode *decoder
	join   joiner
}

// Poll tells what is new, and says how many bytes of it were left out.
func (a *Attempt) Poll() (left int64, err error) {
	look := int64(eachLook)
	if a.tail == nil {
		look = firstLook
		a.tail, a.decode = &tail{path: a.Path}, newDecoder()
	}
	if left = a.tail.jump(look); left > 0 {
		a.join = joiner{} // what it was in the middle of is gone
	}
	a.tail.most = 2 * look // it may grow as fast as it is read
	tell := func(e entry) { a.Tell(Line{At: e.at, Kind: e.kind, Text: e.text, Tool: e.tool}) }
	err = a.tail.poll(func(line []byte) {
		for _, e := range a.decode.line(line) {
			a.join.add(e, tell)
		}
		if len(a.join.text) > longSpeech {
			a.join.flush(tell)
		}
	})
	if len(a.decode.titles) > manyCalls || len(a.decode.terminals) > manyTerminals {
		a.decode = newDecoder() // old calls are not spoken of any more
	}
	return left, err
}

// What is kept to understand what comes next.
const (
	longSpeech    = 4 << 10 // of a line that does not end
	manyCalls     = 10_000
	manyTerminals = 50
)

// Unfinished is the line that is being said.
func (a *Attempt) Unfinished() string { return string(a.join.text) }

// Events follows what happens in a run, but not what its agents say: gates, waits,
// warnings. What happened long ago is left out.
type Events struct {
	Path string // of its events.jsonl
	Tell func(event.Event)

	tail *tail
}

// Poll tells what is new.
func (e *Events) Poll() error {
	look := int64(eachLook)
	if e.tail == nil {
		look = firstLook
		e.tail = &tail{path: e.Path}
	}
	// Most of the file is what agents say, and leaving that out costs little, so much
	// more is read than of a transcript before anything is lost.
	e.tail.jump(16 * look)
	e.tail.most = 32 * look
	return e.tail.events(e.Tell)
}
