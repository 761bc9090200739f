package chat

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"ralph/dag"
	"ralph/internal/human"
	"ralph/internal/term"
)

// update is something that somebody did in a chat.
type update struct {
	id         string // that is the same if it is delivered again
	chat       string
	user, name string
	text       string // that was written
	reply      string // the message of ours that it replies to
	pressed    string // the data of a button
	message    string // whose button it is
	direct     bool   // it is for the bot, whatever it says
	odd        string // why it does not count, wherever it comes from
	query      string // how the service names the press
}

// who is the person, as the audit shows them.
func (u update) who(kind string) string {
	who := kind + ":" + term.Line(u.user)
	if u.name != "" {
		who += " (@" + term.Line(u.name) + ")"
	}
	return term.Cut(who, 100)
}

// ear hears what people do, with the project open.
type ear struct {
	*adapter
	memory
	working func() // the service answers
}

// remembered is how many updates are known to have been heard. The inbox refuses a second answer anyway: this spares people the
// second reply to a command.
const remembered = 500

// hear does what a person wants. What fails is said to that person; it fails no connection.
func (e *ear) hear(ctx context.Context, u update) {
	if slices.Contains(e.seen, u.id) {
		return
	}
	e.seen = append(e.seen, u.id)[max(len(e.seen)+1-remembered, 0):]
	if u.odd != "" || !slices.Contains(e.chats, u.chat) {
		e.stranger(u)
		return
	}
	e.posting[u.chat].Lock()   // what is being posted is stored first: it may be what they reply to
	e.posting[u.chat].Unlock() //nolint:staticcheck // nothing else waits: commands and replies may take long
	err := e.guard(func() error { return e.obey(ctx, u) })
	if bug := (*bugError)(nil); errors.As(err, &bug) {
		e.warn("%v", err)
		err = errors.New("this is a bug in ralph: the log of the server has more")
	}
	if err != nil && ctx.Err() == nil {
		text, _, _ := strings.Cut(err.Error(), "\nhint: ") // about commands
		e.reply(ctx, u, text)
	}
}

// reply says something to the person. If that is lost, they ask again.
func (e *ear) reply(ctx context.Context, u update, text string) {
	e.soon(ctx, u.chat, func() error { _, err := e.say(ctx, u.chat, message{text: text, to: u}); return err })
}

// soon sends something to a chat. Others are heard while a limit puts it off.
func (e *ear) soon(ctx context.Context, chat string, send func() error) {
	lost := func(err error) {
		if err != nil && ctx.Err() == nil {
			e.warn("a reply in chat %s was lost: %v", chat, err)
		}
	}
	err := send()
	if limit := (*limitError)(nil); errors.As(err, &limit) {
		e.late.Go(func() {
			lost(e.guard(func() error {
				if err := e.Wait(ctx, limit.after); err != nil {
					return err
				}
				return e.patiently(ctx, send)
			}))
		})
		return
	}
	lost(err)
}

func (e *ear) obey(ctx context.Context, u update) error {
	switch {
	case u.pressed == stop:
		return e.stop(ctx, u)
	case u.pressed != "":
		about, choice, _ := strings.Cut(u.pressed, " ")
		return e.answer(ctx, u, about, choice)
	case u.reply != "":
		p, err := e.postOf(ctx, u.chat, u.reply)
		if err != nil {
			return err
		}
		if p.about != "" && p.about != stop {
			return e.answer(ctx, u, p.about, "")
		}
	}
	return e.order(ctx, u)
}

// answer gives the answer to an item.
func (e *ear) answer(ctx context.Context, u update, about, choice string) error {
	it, err := read(ctx, e.memory, func(g *dag.Graph) (item, error) { return find(g, about) })
	if err == nil && it.over != "" {
		err = errors.New(it.over)
	}
	if err != nil {
		return err
	}
	stdin, args, err := it.command(choice, u.text)
	if err != nil {
		return err
	}
	return e.carryOut(ctx, u, stdin, args...)
}

func (e *ear) carryOut(ctx context.Context, u update, stdin string, args ...string) error {
	printed, err := e.Command(ctx, u.who(e.bot.Kind), stdin, args...)
	if err == nil {
		e.reply(ctx, u, printed)
	}
	return err
}

const help = `status: how the project stands
inbox: what waits for an answer
stop: stop the runs after their current tasks
Questions are answered by their buttons, or by a reply to their message.`

// order carries out what somebody typed. In a chat with others, only what begins with / or is said to the bot is for it.
func (e *ear) order(ctx context.Context, u update) error {
	word, _, _ := strings.Cut(strings.TrimSpace(u.text), " ")
	name, slash := strings.CutPrefix(strings.ToLower(word), "/")
	if !slash && !u.direct {
		return nil
	}
	switch name {
	case "status", "inbox":
		return e.carryOut(ctx, u, "", name)
	case stop:
		id, err := e.say(ctx, u.chat, message{text: "Stop all runs of " + e.Name + " after their current tasks?", buttons: []button{{stop, stop}}})
		if err == nil {
			err = e.savePost(ctx, u.chat, id, stop)
		}
		return err
	case "help", "start":
	default:
		if !u.direct { // it may be for another bot
			return nil
		}
	}
	e.reply(ctx, u, help)
	return nil
}

// stop is the button that confirms, what a post of it is about, and the command.
const stop = "stop"

// fresh is how long it can be confirmed that runs are to stop: later ones are not meant.
const fresh = 10 * time.Minute

// stop stops runs, once for each time that somebody asks for it.
func (e *ear) stop(ctx context.Context, u update) error {
	p, err := e.postOf(ctx, u.chat, u.message)
	if err != nil {
		return err
	}
	if !p.open || p.about != stop || e.Now().Sub(p.at) > fresh {
		return errors.New("that was confirmed already, or is too old; write stop again")
	}
	who := u.who(e.bot.Kind)
	printed, err := e.Command(ctx, who, "", stop)
	if err != nil {
		return err
	}
	if err := e.closePost(ctx, u.chat, u.message); err != nil {
		return err
	}
	e.reply(ctx, u, printed)
	e.soon(ctx, u.chat, func() error {
		return e.edit(ctx, u.chat, u.message, fmt.Sprintf("stop, by %s%s", who, human.Lead(": ", printed)))
	})
	return nil
}
