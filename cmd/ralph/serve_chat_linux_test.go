package main

import (
	"fmt"
	"strings"
	"testing"

	"ralph/internal/cli"
	"ralph/internal/testing/chatserver"
	"ralph/internal/testing/check"
)

// TestAQuestionIsAnsweredInAChat is the whole way: an agent asks, a person answers in Telegram, the server is killed and started
// again, and the next run continues with the answer. Another bot has no token.
func TestAQuestionIsAnsweredInAChat(t *testing.T) {
	t.Parallel()
	server := chatserver.NewTelegram(t)
	defer server.Close()
	p := newPlace(t, asks(), fmt.Sprintf(`
[[chat]]
kind = "telegram"
token_env = "BOT"
chats = ["1234"]
url = %q
[[chat]]
kind = "slack"
token_env = "NOT_SET"
app_token_env = "NOT_SET_EITHER"
chats = ["C1"]
`, server.URL))
	p.env = append(p.env, "BOT="+chatserver.BotToken)
	p.plan("Paint")
	serve := p.start("serve", "--listen", "127.0.0.1:0")
	server.Await("getMe", "")
	p.want(cli.ExitBlocked, "run")
	q := p.asked()[0]
	sent := server.Await("sendMessage", "Which colour for t-00000001?")
	check.Contains(t, "text", q.ID+" question of t-00000001: Paint", sent.Text("text"))
	server.Await("sendMessage", ": blocked")
	server.Say(1234, 7, "/status", nil) // nobody is heard before the post is stored
	check.Contains(t, "status", "1 task: ", server.Await("sendMessage", "1 task: ").Text("text"))
	server.Confirmed()
	serve.kill()
	server.Say(1234, 7, "The answer is blue", sent.ID)
	serve = p.start("serve", "--listen", "127.0.0.1:0")
	server.Await("sendMessage", q.ID+" answered; t-00000001 continues")
	server.Await("editMessageText", "was answered already, by telegram:7 (@userh)")
	p.want(cli.ExitOK, "run")
	server.Await("sendMessage", ": complete")
	check.Equal(t, "posts of the question", 1, func() (n int) {
		for _, c := range server.Calls("sendMessage") {
			n += strings.Count(c.Text("text"), q.ID+" question")
		}
		return n
	}())
	p.wantAnswered()
	p.want(0, "audit", "--json").inStdout(`"who": "telegram:7 (@userh)"`, `"via": "chat"`)
	serve.kill()
	warned := serve.stderr.String()
	check.Contains(t, "warning", "chat: slack is not started: NOT_SET is not set; export the token of the bot in it", warned)
	check.That(t, !strings.Contains(warned, "s3cr3t"), "the token is in %s", warned)
}
