package acp

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"runtime"
	"strings"
	"testing"

	sdk "github.com/coder/acp-go-sdk"
)

// An agent that exits right after its answer: the SDK alone loses the answer
// now and then, because it sees the end at the same time.
func TestAnswerBeforeTheEndIsNotLost(t *testing.T) {
	t.Parallel()
	for i := range 200 {
		r, w := io.Pipe()
		in := newIntake(r, &transcript{})
		in.update, in.answer = func(updateParams) {}, func() {}
		conn := sdk.NewConnection(nil, answerTo{w}, in)
		conn.SetLogger(slog.New(slog.DiscardHandler))
		finish := in.begin(1)
		close(in.open)
		raw, err := sdk.SendRequest[json.RawMessage](conn, t.Context(), "x", nil)
		finish()
		if err != nil || string(raw) != `{"fine":true}` {
			t.Fatalf("call %d: got %s, %v", i, raw, err)
		}
		<-in.done
	}
}

// answerTo answers whatever is written to it and ends, all before the caller
// has begun to wait for the answer.
type answerTo struct{ w *io.PipeWriter }

func (a answerTo) Write(p []byte) (int, error) {
	io.WriteString(a.w, `{"jsonrpc":"2.0","id":1,"result":{"fine":true}}`+"\n")
	a.w.Close()
	for range 1000 {
		runtime.Gosched() // let the end be seen
	}
	return len(p), nil
}

func FuzzIntake(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"x"}}}}` + "\n"))
	f.Add([]byte(`{"id":1,"result":{}}` + "\n" + `{"id":2,"method":"x"}` + "\n"))
	f.Add([]byte("{}\nnull\n[]\n\x00\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s := &Session{id: "s", turn: newTurn(maxText, &Speech{}), files: &files{dirs: []string{"/p"}}, faults: make(chan *Error, 1)}
		in := newIntake(strings.NewReader(string(data)), &transcript{})
		in.update, in.answer = s.onUpdate, s.onAnswer
		close(in.open)
		for buf := make([]byte, 4096); ; {
			n, err := in.Read(buf)
			if n == 0 && err == nil {
				t.Fatal("nothing read and no error")
			}
			if err != nil {
				break
			}
			for range n {
				in.answeredRequest() // nobody answers here
			}
		}
		if s.turn.size > len(data)*6 {
			t.Fatalf("%d bytes of text out of %d", s.turn.size, len(data))
		}
	})
}

// A long line is passed on whole, and its memory is not kept.
func TestALongLineIsTakenWhole(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		size int
		want error
	}{"short": {10, nil}, "of several buffers": {1 << 20, nil}, "the longest": {maxLine - 1, nil}, "too long": {maxLine, errLineTooLong}} {
		in := newIntake(strings.NewReader(strings.Repeat("x", tc.size)+"\nnext"), &transcript{})
		line, err := in.next()
		if !errors.Is(err, tc.want) || err == nil && len(line) != tc.size {
			t.Errorf("%s: got %d bytes, %v", name, len(line), err)
		}
		if next, err := in.next(); tc.want == nil && (err != nil || string(next) != "next" || in.lines.Size() > 1<<16) {
			t.Errorf("%s: got %q, %v, and a buffer of %d bytes", name, next, err, in.lines.Size())
		}
	}
}
