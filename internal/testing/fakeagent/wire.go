package fakeagent

import (
	"bufio"
	"encoding/json"
	"io"
	"strconv"
	"sync"
)

// message is any JSON-RPC message.
type message struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  any             `json:"params,omitempty"`
	Result  any             `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

type rpcError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// incoming is a message whose body is read later.
type incoming struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *rpcError       `json:"error"`
}

// wire is one end of a connection over lines of JSON.
type wire struct {
	reading sync.Mutex // held by a step that wants nothing read
	in      *bufio.Reader

	writing sync.Mutex // held while the client does not read
	out     *bufio.Writer
	raw     io.Writer

	mu      sync.Mutex
	next    int
	waiting map[string]chan incoming
}

func newWire(in io.Reader, out io.Writer) *wire {
	return &wire{
		in: bufio.NewReaderSize(in, 1<<16), out: bufio.NewWriterSize(out, 1<<16), raw: out,
		next: 1000, waiting: make(map[string]chan incoming),
	}
}

// read returns the next request or notification; answers go to who asked.
func (w *wire) read() (incoming, error) {
	for {
		line, err := w.in.ReadBytes('\n')
		w.reading.Lock()
		w.reading.Unlock() //nolint:staticcheck // a step may hold it to stop the reading
		if err != nil {
			return incoming{}, err
		}
		var m incoming
		if json.Unmarshal(line, &m) != nil {
			continue
		}
		if m.Method != "" {
			return m, nil
		}
		w.mu.Lock()
		ch := w.waiting[string(m.ID)]
		delete(w.waiting, string(m.ID))
		w.mu.Unlock()
		if ch != nil {
			ch <- m
		}
	}
}

// decode reads what fits.
func decode(raw json.RawMessage, into any) { _ = json.Unmarshal(raw, into) }

// put queues a message; flush sends what is queued.
func (w *wire) put(m message) {
	m.JSONRPC = "2.0"
	raw, err := json.Marshal(m)
	must(err)
	w.line(string(raw))
}

// line queues any text.
func (w *wire) line(text string) {
	w.writing.Lock()
	defer w.writing.Unlock()
	_, _ = w.out.WriteString(text + "\n")
}

func (w *wire) flush() {
	w.writing.Lock()
	defer w.writing.Unlock()
	_ = w.out.Flush()
}

func (w *wire) send(m message) {
	w.put(m)
	w.flush()
}

// ask puts a request and says where its answer will come.
func (w *wire) ask(method string, params any) <-chan incoming {
	w.mu.Lock()
	w.next++
	id := strconv.Itoa(w.next)
	ch := make(chan incoming, 1)
	w.waiting[id] = ch
	w.mu.Unlock()
	w.put(message{ID: json.RawMessage(id), Method: method, Params: params})
	return ch
}

func (w *wire) call(method string, params any) incoming {
	ch := w.ask(method, params)
	w.flush()
	return <-ch
}
