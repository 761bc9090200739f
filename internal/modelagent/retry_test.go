package modelagent

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// step is one answer of a server that has its bad moments; status 200 is a whole one.
type step struct {
	status int
	after  string
}

func TestAskTriesAgainWhereThatHelps(t *testing.T) {
	t.Parallel()
	s := time.Second
	for name, c := range map[string]struct {
		steps  []step // the last is repeated
		asked  int
		kind   FailureKind   // at the end; empty for an answer
		after  time.Duration // what the failure keeps
		told   []string
		atmost time.Duration // it takes that long or up to a second less
	}{
		"at once":                       {steps: []step{{200, ""}}, asked: 1},
		"after the time that was given": {steps: []step{{429, "20"}, {200, ""}}, asked: 2, told: []string{"the provider limits the rate; trying again in 20 s"}, atmost: 20 * s},
		"after the longest time":        {steps: []step{{529, "60"}, {200, ""}}, asked: 2, told: []string{"the provider is overloaded; trying again in 60 s"}, atmost: 60 * s},
		"not after a longer one":        {steps: []step{{429, "61"}}, asked: 1, kind: Limited, after: 61 * s},
		"three times where none is given": {
			steps: []step{{529, ""}}, asked: 4, kind: Overloaded, atmost: 8 * s, told: []string{
				"the provider is overloaded; trying again in 2 s", "the provider is overloaded; trying again in 3 s", "the provider is overloaded; trying again in 5 s",
			},
		},
		"three times what is broken": {
			steps: []step{{500, ""}, {502, ""}, {504, ""}, {200, ""}}, asked: 4, atmost: 8 * s, told: []string{
				"the provider's answer did not arrive (Internal Server Error); trying again in 2 s",
				"the provider's answer did not arrive (Bad Gateway); trying again in 3 s",
				"the provider's answer did not arrive (Gateway Timeout); trying again in 5 s",
			},
		},
		"not a wrong key":       {steps: []step{{401, ""}}, asked: 1, kind: NoKey},
		"not a wrong request":   {steps: []step{{400, ""}}, asked: 1, kind: Bad},
		"not one that is long":  {steps: []step{{413, ""}}, asked: 1, kind: TooLong},
		"not without the model": {steps: []step{{404, ""}}, asked: 1, kind: NoModel},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inDialects(t, func(t *testing.T, d dialect) {
				synctest.Test(t, func(t *testing.T) {
					asked := 0
					p := d.connect(piped(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
						now := c.steps[min(asked, len(c.steps)-1)]
						asked++
						if now.status == http.StatusOK {
							play(w, d.stream)
							return
						}
						w.Header().Set("Retry-After", now.after)
						text := http.StatusText(now.status)
						if now.status == http.StatusNotFound {
							text = "no such model"
						}
						http.Error(w, text, now.status)
					})))
					var told []string
					began := time.Now()
					got, err := ask(t.Context(), p, question("m"), ignore, func(why string) { told = append(told, why) })
					took := time.Since(began)
					if asked != c.asked || took > c.atmost || took < c.atmost-s {
						t.Errorf("asked %d times in %s", asked, took)
					}
					if diff := cmp.Diff(c.told, told); diff != "" {
						t.Error(diff)
					}
					want := d.whole
					if c.kind != "" {
						want = Reply{}
					}
					if diff := cmp.Diff(want, got); diff != "" {
						t.Error(diff)
					}
					var f *Failure
					if errors.As(err, &f) != (c.kind != "") || f != nil && (f.Kind != c.kind || f.After != c.after) {
						t.Errorf("got %#v", err)
					}
				})
			})
		})
	}
}

func TestAskGivesUpWithItsCaller(t *testing.T) {
	t.Parallel()
	inDialects(t, func(t *testing.T, d dialect) {
		synctest.Test(t, func(t *testing.T) {
			asked := 0
			p := d.connect(piped(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				asked++
				w.Header().Set("Retry-After", strconv.Itoa(60))
				w.WriteHeader(http.StatusTooManyRequests)
			})))
			gone := errors.New("gone")
			ctx, cancel := context.WithCancelCause(t.Context())
			began := time.Now()
			_, err := ask(ctx, p, question("m"), ignore, func(string) { cancel(gone) })
			if !errors.Is(err, gone) || asked != 1 || time.Since(began) != 0 {
				t.Errorf("asked %d times in %s, got %v", asked, time.Since(began), err)
			}
		})
	})
}
