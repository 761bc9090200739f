package redact

import (
	"slices"
	"strings"
	"unicode"

	"ralph/internal/plain"
)

// LooksSecret says whether a variable of this name holds a secret. It goes by whole
// words: MONKEY and KEYBOARD hold none. A name that ends in FILE, PATH and the like
// says where something is, not what it is.
func LooksSecret(name string) bool {
	list := words(name)
	for len(list) > 0 && strings.Trim(list[len(list)-1], "0123456789") == "" {
		list = list[:len(list)-1] // API_KEY_2
	}
	if len(list) == 0 || slices.Contains(places, list[len(list)-1]) || strings.Join(list, "_") == "GIT_CONFIG_KEY" {
		return false
	}
	for i, word := range list {
		last := i == len(list)-1
		switch {
		case slices.ContainsFunc(endings, func(end string) bool { return strings.HasSuffix(word, end) }):
			return true
		case slices.Contains(exact, word):
			return true
		case last && slices.Contains(lasts, word), last && i > 0 && word == "PWD":
			return true
		case word == "KEY" && i > 0 && slices.Contains(keys, list[i-1]):
			return true
		}
	}
	return false
}

// What words of a name say. AUTHTOKEN and PGPASSWORD are words, so some are looked
// for at the end of one.
var (
	endings = []string{"TOKEN", "SECRET", "SECRETS", "PASSWORD", "PASSWORDS", "PASSWD", "PASSPHRASE", "CREDENTIAL", "CREDENTIALS", "APIKEY", "ACCESSKEY", "SECRETKEY", "PRIVATEKEY"}
	exact   = []string{"PASS", "PAT", "JWT", "SSHPASS"}
	lasts   = []string{"KEY", "KEYS", "AUTH", "TOKENS", "COOKIE"}
	keys    = []string{"API", "ACCESS", "PRIVATE", "SECRET", "SIGNING", "ENCRYPTION", "MASTER", "DEPLOY"} // before KEY, wherever that stands
	places  = []string{"FILE", "PATH", "DIR", "DIRECTORY", "SOCK", "SOCKET", "TIMEOUT", "TTL", "LIMIT", "LENGTH", "SIZE"}
)

// words splits a name at all that is no letter or digit and where a capital follows
// a small letter, and returns the words in capitals.
func words(name string) []string {
	return strings.FieldsFunc(strings.ToUpper(plain.Camel(name)), func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) })
}
