package model

// Kind is what a prompt asks for.
type Kind string

// The kinds there are.
const (
	Work   Kind = "work"   // a task
	Verify Kind = "verify" // a verdict about a task
	Other  Kind = "other"  // anything else that is said to the agent
	Side   Kind = "side"   // what agents ask for themselves, such as a title
)

// Prompt is one request, as a script sees it.
type Prompt struct {
	Kind  Kind
	Task  string // t-...; empty if there is none
	Try   int    // the nth different prompt of this kind for this task
	Turn  int    // how many tools were called since the prompt
	Text  string // of the prompt
	Model string // as the agent asked for it
	Tool  string // what the last tool said
}

// Answer is what the model says: some text and at most one tool call.
type Answer struct {
	Text  string
	Write *File
	Shell string
	Plan  bool  // the agent's list of what is to do is brought up to date, or nothing is done if it has none
	Fault Fault // happens first, so many times
}

// File is a file to be written by the agent's own tool.
type File struct{ Path, Content string }

// Fault is a way to fail.
type Fault struct {
	Status int  // answered instead; 429, 529, 401, ...
	Hang   bool // no answer at all, until the client gives up
	Cut    bool // the connection breaks in the middle of the answer
	Times  int  // how often; 0 means that there is no fault, -1 for ever
}

// Script decides what to answer. It is called from many goroutines.
type Script func(Prompt) Answer
