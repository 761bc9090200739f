package inbound

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"ralph/dag"
	"ralph/internal/db"
	"ralph/internal/plain"
	"ralph/internal/schedule"
	"ralph/internal/term"
)

// delivery is a request that is genuine.
type delivery struct {
	id        string // the sender's
	event     string // of GitHub
	signature string // a hash of it
}

// window is for the clocks of senders that say when they sent.
const window = 5 * time.Minute

// verify checks the signature of a request. Why it is not genuine is for the owner.
func verify(h Hook, header http.Header, body []byte, now time.Time) (d delivery, why string) {
	signed, given := [][]byte{body}, header.Get("X-Hub-Signature-256")
	d.id, d.event = header.Get("X-GitHub-Delivery"), header.Get("X-GitHub-Event")
	if h.Plain() {
		at := header.Get("X-Ralph-Timestamp")
		signed, given = [][]byte{[]byte(at + "."), body}, header.Get("X-Ralph-Signature")
		d.id, d.event = header.Get("X-Ralph-Delivery"), ""
		if sent, err := strconv.ParseInt(at, 10, 64); err != nil || now.Sub(time.Unix(sent, 0)).Abs() > window {
			why = "X-Ralph-Timestamp is not the time in seconds, or more than five minutes off"
		}
	}
	mac := hmac.New(sha256.New, h.Secret)
	mac.Write(slices.Concat(signed...))
	sum := mac.Sum(nil)
	claimed, err := hex.DecodeString(strings.TrimPrefix(given, "sha256="))
	if !hmac.Equal(sum, claimed) || err != nil || !strings.HasPrefix(given, "sha256=") {
		return d, "the signature is missing or wrong"
	}
	hash := sha256.Sum256(sum) // who reads the database cannot sign with it
	d.signature = hex.EncodeToString(hash[:])
	if h.Plain() && d.id == "" {
		d.id = d.signature[:32]
	}
	if d.id = plain.Cut(term.Line(d.id), maxID); d.id == "" && why == "" {
		why = "it has no X-GitHub-Delivery"
	}
	return d, why
}

const (
	deliverSQL  = `INSERT INTO deliveries (hook, delivery, signature, at) VALUES (:hook, :delivery, :signature, :at) ON CONFLICT DO NOTHING;`
	lastRunSQL  = `SELECT pid, pid_start, boot_id, pid_ns, at FROM deliveries WHERE hook = :hook AND n <> :n AND (pid > 0 OR did IS NULL) ORDER BY n DESC LIMIT 1;`
	finishedSQL = `UPDATE deliveries SET did = :did, pid = :pid, pid_start = :start, boot_id = :boot, pid_ns = :ns WHERE n = :n;`
	forgetSQL   = `DELETE FROM deliveries WHERE n = :n;`
)

// record remembers a delivery before anything is done about it: of a kill in between, it is done once or not at all. N is 0 for one
// that was delivered before, by its ID or by its signature, which does not cover the ID. Busy says that an earlier run is at work: then it is
// forgotten, because it may be delivered again.
func (o Options) record(ctx context.Context, h Hook, d delivery) (n int64, busy bool, err error) {
	err = o.Update(ctx, func(g *dag.Graph) error {
		now := g.Now()
		g.Tx().Do(deliverSQL, ":hook", h.Name, ":delivery", d.id, ":signature", d.signature, ":at", now.UnixMilli())
		if g.Tx().Err() != nil || g.Tx().Changes() == 0 {
			return g.Tx().Err()
		}
		n = g.Tx().LastInsert()
		last, err := db.One(g.Tx(), lastRunSQL, func(r *db.Row) schedule.Fire {
			p := dag.Process{PID: r.Int64(), Start: r.Int64(), BootID: r.Text(), Namespace: r.Text()}
			return schedule.Fire{State: schedule.Started, Process: p, At: r.Time()}
		}, ":hook", h.Name, ":n", n)
		if busy = h.Run != nil && !last.At.IsZero() && schedule.Running(g, last, o.Life); busy {
			g.Tx().Do(forgetSQL, ":n", n)
		}
		return cmp.Or(err, g.Tx().Err())
	})
	return n, busy, err
}
