package project

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"ralph/internal/event"
)

// Chat is a bot that tells people about the project and takes their answers, while ralph serve runs.
type Chat struct {
	Kind        string   `toml:"kind"`
	TokenEnv    string   `toml:"token_env"`     // the variable with the bot's token
	AppTokenEnv string   `toml:"app_token_env"` // of Slack: the one with the app's
	Chats       []string `toml:"chats"`         // that count, by their IDs
	Events      []string `toml:"events"`        // kinds of notifications; none means all
	URL         string   `toml:"url"`           // of another server; empty means that of the service
}

// invalid says what makes no sense about it, without repeating what may be a token.
func (c Chat) invalid() string {
	chat := map[string]string{"telegram": `^-?[0-9]+$`, "slack": `^[CDGUW][A-Z0-9]+$`}[c.Kind]
	isName := func(s string) bool { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`).MatchString(s) }
	switch {
	case chat == "":
		return fmt.Sprintf("kind: %q is not one of telegram, slack", c.Kind)
	case !isName(c.TokenEnv):
		return "token_env: it is the name of the variable with the token, never the token itself"
	case c.Kind == "slack" && !isName(c.AppTokenEnv):
		return "app_token_env: it is the name of the variable with the app-level token (xapp-...), never the token itself"
	case c.Kind != "slack" && c.AppTokenEnv != "":
		return "app_token_env: only Slack has one"
	case len(c.Chats) == 0:
		return "chats: it is empty, and nobody else may talk to the bot; list the IDs of chats"
	case c.URL != "" && !strings.HasPrefix(c.URL, "http://") && !strings.HasPrefix(c.URL, "https://"):
		return "url: an address begins with http:// or https://"
	}
	for i, id := range c.Chats {
		if !regexp.MustCompile(chat).MatchString(id) || slices.Contains(c.Chats[:i], id) {
			return fmt.Sprintf("chats: %q is no ID of a chat in %s, or is there twice", id, c.Kind)
		}
	}
	return badKinds("events", c.Events)
}

func (c Chat) name() string { return c.TokenEnv }

func (c Chat) twice() string {
	return "token_env: another has the same; a bot is configured once, with all its chats"
}

// String is how it is shown.
func (c Chat) String() string {
	return fmt.Sprintf("%s with $%s in %s", c.Kind, c.TokenEnv, strings.Join(c.Chats, ", ")) + onEvents(c.Events)
}

// badKinds says which of a list is no kind of notification.
func badKinds(key string, list []string) string {
	for _, kind := range list {
		if !slices.Contains(event.NoticeKinds(), kind) {
			return fmt.Sprintf("%s: %q is not one of %s", key, kind, strings.Join(event.NoticeKinds(), ", "))
		}
	}
	return ""
}

func onEvents(kinds []string) string {
	if len(kinds) == 0 {
		kinds = []string{"everything"}
	}
	return " on " + strings.Join(kinds, ", ")
}
