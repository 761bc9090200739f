package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"

	"go.temporal.io/api/serviceerror"

	"ralph/internal/dispatch"
)

func newTestHome(t *testing.T) (*home, *dispatch.Conn[dispatch.FromRun, dispatch.ToRun]) {
	t.Helper()
	here, there := net.Pipe()
	t.Cleanup(func() { here.Close(); there.Close() })
	h := newHome(nil, "ralph/app/all", "", "", nil, input())
	h.conn = dispatch.NewConn[dispatch.ToRun, dispatch.FromRun](here)
	return h, dispatch.NewConn[dispatch.FromRun, dispatch.ToRun](there)
}

func TestAnOrderThatIsTooLargeIsAnsweredAtOnce(t *testing.T) {
	h, run := newTestHome(t)
	large := order("1")
	large.Body = json.RawMessage(`"` + strings.Repeat("x", maxPayload) + `"`)
	h.take(dispatch.FromRun{Order: &large})
	line, err := run.Receive()
	if err != nil || line.Delivery == nil || line.Delivery.Attempt != "1" || !strings.Contains(line.Delivery.Error, "more than the Temporal server takes") {
		t.Errorf("got %+v, %v", line, err)
	}
	if len(h.batch()) != 0 {
		t.Error("it is sent all the same")
	}
}

func TestEverythingIsToldAgainInOrder(t *testing.T) {
	h, _ := newTestHome(t)
	var want []string
	for i := range 30 {
		o := order(fmt.Sprint("a-", 100-i))
		h.take(dispatch.FromRun{Order: &o})
		want = append(want, o.Attempt)
	}
	h.take(dispatch.FromRun{Settled: want[0]})
	h.take(dispatch.FromRun{Cancel: want[1]})
	h.take(dispatch.FromRun{Cancel: want[2]})
	h.take(dispatch.FromRun{Settled: want[2]})
	want = slices.Delete(want[1:], 1, 2)
	h.batch()
	h.cancels = nil
	h.requeue()
	var got []string
	for _, o := range h.batch() {
		got = append(got, o.Attempt)
	}
	if !slices.Equal(got, want) || !slices.Equal(h.cancels, want[:1]) {
		t.Errorf("got %v, cancelled %v", got, h.cancels)
	}
}

func TestWhatTheServerNeverTakesIsNotRetried(t *testing.T) {
	for _, refused := range []error{
		serviceerror.NewInvalidArgument("no"), serviceerror.NewResourceExhausted(0, "grpc: trying to send message larger than max (5 vs. 4)"),
	} {
		calls := 0
		err := retry(t.Context(), func(context.Context) error { calls++; return refused })
		if err == nil || calls != 1 {
			t.Errorf("%v: %d calls, %v", refused, calls, err)
		}
	}
}
