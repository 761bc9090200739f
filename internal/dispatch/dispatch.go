// Package dispatch is what a run whose attempts are made on other machines says to the program that takes them there, and
// what that program answers: one JSON value on each line, in both directions. The program knows nothing of tasks and agents;
// what is in a Body is between the run and `ralph attempt` on the other machine.
package dispatch

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"ralph/internal/event"
)

// FromRun is one line of a run. One field is set.
type FromRun struct {
	Run     *Run     `json:"run,omitempty"`     // first of all: which run it is
	Order   *Order   `json:"order,omitempty"`   // have this attempt made; an order that is under way already changes nothing
	Cancel  string   `json:"cancel,omitempty"`  // end this attempt; it is delivered all the same
	Settled string   `json:"settled,omitempty"` // what came of this attempt is stored; it can be forgotten
	Idle    bool     `json:"idle,omitempty"`    // there is nothing to order until something changes
	Ended   *Outcome `json:"ended,omitempty"`   // last of all
}

// Run names a run.
type Run struct {
	ID   string   `json:"id"`
	Open []string `json:"open,omitempty"` // the attempts that it still waits for; what else is under way is in vain
}

// Outcome is how a run ended.
type Outcome struct {
	Outcome string `json:"outcome"`
	Reason  string `json:"reason,omitempty"`
}

// Order is one attempt to be made. It has no secrets: whoever makes it has their own.
type Order struct {
	Attempt string          `json:"attempt"`
	Task    string          `json:"task"`
	Title   string          `json:"title"`
	Agent   string          `json:"agent"`
	Tags    []string        `json:"tags,omitempty"` // of the task
	Build   string          `json:"build"`          // of ralph: only the same can make it
	Body    json.RawMessage `json:"body"`           // for ralph attempt
}

// ToRun is one line for a run. One field is set.
type ToRun struct {
	Delivery *Delivery `json:"delivery,omitempty"`
	Progress *Progress `json:"progress,omitempty"`
}

// Delivery is what came of an order.
type Delivery struct {
	Attempt string          `json:"attempt"`
	Error   string          `json:"error,omitempty"`   // why it could not be made at all; then there is no Body
	Vain    bool            `json:"vain,omitempty"`    // it was cancelled before it began; then there is no Body either
	Limited *Limit          `json:"limited,omitempty"` // a provider's limit that it ran into
	Body    json.RawMessage `json:"body,omitempty"`    // from ralph attempt
}

// Limit says for how long an agent cannot be used. It is a duration, as clocks differ.
type Limit struct {
	Agent string        `json:"agent"`
	For   time.Duration `json:"for"`
}

// Progress is how far an attempt has come.
type Progress struct {
	Attempt string      `json:"attempt"`
	Host    string      `json:"host,omitempty"`
	Phase   string      `json:"phase,omitempty"`
	Usage   event.Usage `json:"usage"`
	Text    string      `json:"text,omitempty"` // the last line of what its agent said
}

// FromAttempt is one line of ralph attempt. Its last line is a delivery.
type FromAttempt struct {
	Progress *Progress `json:"progress,omitempty"`
	Delivery *Delivery `json:"delivery,omitempty"`
}

// Conn sends values of one type and receives those of another, a line each. Send may be called from any goroutine.
type Conn[S, R any] struct {
	mu  sync.Mutex
	w   io.Writer
	dec *json.Decoder
}

// NewConn is a connection over a stream.
func NewConn[S, R any](rw io.ReadWriter) *Conn[S, R] {
	return &Conn[S, R]{w: rw, dec: json.NewDecoder(rw)}
}

// Send writes one value.
func (c *Conn[S, R]) Send(v S) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err = c.w.Write(append(b, '\n'))
	return err
}

// Receive reads the next value. The error is io.EOF when the other side is gone.
func (c *Conn[S, R]) Receive() (v R, err error) {
	if err = c.dec.Decode(&v); err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("what was received makes no sense: %w", err)
	}
	return v, err
}
