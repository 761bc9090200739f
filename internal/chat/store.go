package chat

import (
	"context"
	"time"

	"ralph/dag"
	"ralph/internal/db"
)

// post is a message of ours in a chat.
type post struct {
	message string // as the service names it
	about   string // a request, m-N or stop
	at      time.Time
	open    bool
}

const (
	openPostsSQL = `SELECT message, about, at, open FROM chat_posts WHERE bot = :bot AND chat = :chat AND open ORDER BY at;`
	postSQL      = `SELECT message, about, at, open FROM chat_posts WHERE bot = :bot AND chat = :chat AND message = :message;`
	savePostSQL  = `INSERT INTO chat_posts (bot, chat, message, about, at) VALUES (:bot, :chat, :message, :about, :now) ON CONFLICT DO NOTHING;`
	closePostSQL = `UPDATE chat_posts SET open = 0 WHERE bot = :bot AND chat = :chat AND message = :message;`
	oldPostsSQL  = `DELETE FROM chat_posts WHERE bot = :bot AND NOT open AND at < :before;`
	cursorSQL    = `SELECT value FROM chat_cursors WHERE bot = :bot AND name = :name AND at >= :since;`
	saveSQL      = `
INSERT INTO chat_cursors (bot, name, value, at) VALUES (:bot, :name, :value, :now)
ON CONFLICT DO UPDATE SET value = excluded.value, at = excluded.at;`
)

// old is the age at which posts that are over are forgotten, and no history is read any more.
const old = 30 * 24 * time.Hour

func scanPost(r *db.Row) post {
	return post{message: r.Text(), about: r.Text(), at: r.Time(), open: r.Bool()}
}

// memory is what is stored about a bot. Its project is open.
type memory struct {
	Project
	owner string
	now   func() time.Time
}

// read reads something of the graph.
func read[T any](ctx context.Context, m memory, fn func(*dag.Graph) (T, error)) (v T, err error) {
	err = m.Store.View(ctx, func(g *dag.Graph) (err error) { v, err = fn(g); return err })
	return v, err
}

// write stores what has happened, even if the server is ending.
func (m memory) write(ctx context.Context, query string, args ...any) error {
	args = append(args, ":bot", m.owner)
	return m.Store.Update(context.WithoutCancel(ctx), func(g *dag.Graph) error { return g.Tx().Exec(query, args...) })
}

func (m memory) savePost(ctx context.Context, chat, message, about string) error {
	return m.write(ctx, savePostSQL, ":chat", chat, ":message", message, ":about", about, ":now", m.now().UnixMilli())
}

func (m memory) closePost(ctx context.Context, chat, message string) error {
	return m.write(ctx, closePostSQL, ":chat", chat, ":message", message)
}

// postOf is the one with that name, the zero post if it is none of ours.
func (m memory) postOf(ctx context.Context, chat, message string) (post, error) {
	return read(ctx, m, func(g *dag.Graph) (post, error) {
		return db.One(g.Tx(), postSQL, scanPost, ":bot", m.owner, ":chat", chat, ":message", message)
	})
}

func (m memory) openPosts(ctx context.Context, chat string) ([]post, error) {
	return read(ctx, m, func(g *dag.Graph) ([]post, error) {
		return db.All(g.Tx(), openPostsSQL, scanPost, ":bot", m.owner, ":chat", chat)
	})
}

// cursor is empty if there is none, or none that was stored so recently.
func (m memory) cursor(ctx context.Context, name string, within time.Duration) (string, error) {
	return read(ctx, m, func(g *dag.Graph) (string, error) {
		return db.One(g.Tx(), cursorSQL, (*db.Row).Text, ":bot", m.owner, ":name", name, ":since", m.now().Add(-within).UnixMilli())
	})
}

func (m memory) saveCursor(ctx context.Context, name, value string) error {
	return m.write(ctx, saveSQL, ":name", name, ":value", value, ":now", m.now().UnixMilli())
}

// forget removes posts to which nobody replies any more.
func (m memory) forget(ctx context.Context) error {
	return m.write(ctx, oldPostsSQL, ":before", m.now().Add(-old).UnixMilli())
}
