package project

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"ralph/internal/copyfile"
)

// ErrConfig is a configuration that cannot be used.
var ErrConfig = errors.New("bad configuration")

// Loaded is a configuration with the place that each value came from.
type Loaded struct {
	Config
	origins map[string]string
}

// Origin says where the value of a key like "run.limit" was set.
func (l Loaded) Origin(key string) string {
	if o, ok := l.origins[key]; ok {
		return o
	}
	return "default"
}

// Given says that somebody set a key, also to what it is by default.
func (l Loaded) Given(key string) bool { return l.Origin(key) != "default" }

// Load merges, each over the one before: the defaults, the user's file, the
// project's file, and RALPH_SECTION_KEY from the environment. Either path may be
// empty or missing. Unknown keys and bad values are errors that name the line.
func Load(userFile, projectFile string, getenv func(string) string) (Loaded, error) {
	l := Loaded{Config: Default(), origins: map[string]string{}}
	// Of a home that cannot be entered nothing is known, as of one that is not there.
	if _, err := os.Stat(userFile); err == nil {
		if err := l.addFile(userFile); err != nil {
			return Loaded{}, err
		}
	}
	if err := l.addFile(projectFile); err != nil {
		return Loaded{}, err
	}
	if err := l.addEnv(getenv); err != nil {
		return Loaded{}, err
	}
	return l, nil
}

// maxConfig is the size of a configuration, which an agent may have replaced.
const maxConfig = 16 << 20

func (l *Loaded) addFile(path string) error {
	if path == "" {
		return nil
	}
	data, err := copyfile.Read(path, maxConfig)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrConfig, err)
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff")) // some editors begin a file with it
	if bytes.HasPrefix(data, []byte{0xff, 0xfe}) || bytes.HasPrefix(data, []byte{0xfe, 0xff}) {
		return fmt.Errorf("%w: %s:1: it is UTF-16; save it as UTF-8", ErrConfig, path)
	}
	notify, hooks, chats, reviewers := l.Notify, l.Hooks, l.Chat, l.Verify.Reviewers
	l.Notify, l.Hooks, l.Chat, l.Verify.Reviewers = nil, nil, nil, nil
	schedules, inbound := l.Schedules, l.Inbound
	l.Schedules, l.Inbound = nil, nil
	rules := l.Permissions
	l.Permissions = PermissionsConfig{Default: rules.Default}
	dec := toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields()
	if err := dec.Decode(&l.Config); err != nil {
		return explain(path, data, err)
	}
	key, why := l.invalid()
	if key == "" {
		key, why = repeated("schedule", schedules, l.Schedules)
	}
	if key == "" {
		key, why = repeated("inbound", inbound, l.Inbound)
	}
	if key != "" {
		return fmt.Errorf("%w: %s:%d: %s: %s", ErrConfig, path, lineOf(data, key), key, why)
	}
	l.Notify = addAll(l, "notify", path, notify, l.Notify)
	l.Hooks = addAll(l, "hooks", path, hooks, l.Hooks)
	l.Schedules = addAll(l, "schedule", path, schedules, l.Schedules)
	l.Inbound = addAll(l, "inbound", path, inbound, l.Inbound)
	l.Chat = addAll(l, "chat", path, chats, l.Chat)
	now := &l.Permissions
	now.Deny, now.Ask, now.Allow = slices.Concat(rules.Deny, now.Deny), slices.Concat(rules.Ask, now.Ask), slices.Concat(rules.Allow, now.Allow)
	if l.Verify.Reviewers == nil {
		l.Verify.Reviewers = reviewers
	}
	var given map[string]any
	if err := toml.Unmarshal(data, &given); err != nil {
		return explain(path, data, err)
	}
	flat := leaves("", given)
	for key := range flat {
		if before := l.origins[key]; before != "" && strings.HasPrefix(key, "permissions.") && key != "permissions.default" {
			l.origins[key] = before + ", " + path
			continue
		}
		l.origins[key] = path
	}
	_, use := flat["agent.use"]
	_, command := flat["agent.command"]
	l.oneAgent(use && !command, command && !use)
	return nil
}

// addAll adds the tables of a file to those of the files before.
func addAll[T any](l *Loaded, key, path string, before, more []T) []T {
	for i := range more {
		l.origins[fmt.Sprintf("%s.%d", key, len(before)+i+1)] = path
	}
	return slices.Concat(before, more)
}

// oneAgent lets a layer that names the agent in one way undo the other way of the
// layers before.
func (l *Loaded) oneAgent(use, command bool) {
	switch {
	case use:
		l.Agent.Command = ""
		delete(l.origins, "agent.command")
	case command:
		l.Agent.Use = ""
		delete(l.origins, "agent.use")
	}
}

func lineOf(data []byte, key string) int {
	dot := strings.LastIndex(key, ".")
	section, name := key[:dot], key[dot+1:]
	assignment := regexp.MustCompile(`^\s*` + regexp.QuoteMeta(name) + `\s*=`)
	in, nth := "", 0
	for i, text := range strings.Split(string(data), "\n") {
		if header := strings.TrimSpace(text); strings.HasPrefix(header, "[") {
			in = strings.NewReplacer(`"`, "", "'", "").Replace(strings.Trim(strings.SplitN(header, "]", 2)[0], "[ "))
			if in == section {
				nth++
			}
			if in == key || fmt.Sprintf("%s.%d", in, nth) == key { // a table that is wrong as a whole
				return i + 1
			}
		}
		if in == section && assignment.MatchString(text) {
			return i + 1
		}
	}
	return 1
}

// leaves flattens tables to dotted keys. What users name themselves stays whole.
func leaves(prefix string, table map[string]any) map[string]any {
	flat := map[string]any{}
	for name, value := range table {
		key := prefix + name
		inner, ok := value.(map[string]any)
		switch {
		case ok && named(strings.TrimSuffix(prefix, ".")):
			flat[key] = value
		case ok:
			maps.Copy(flat, leaves(key+".", inner))
		default:
			flat[key] = value
		}
	}
	return flat
}

// named says whether the keys of a table are names that users chose.
func named(table string) bool {
	f, is := reflect.TypeFor[Config]().FieldByNameFunc(func(name string) bool { return strings.EqualFold(name, table) })
	return is && f.Type.Kind() == reflect.Map
}

// EnvName is the variable that sets a key.
func EnvName(key string) string {
	return "RALPH_" + strings.ToUpper(strings.ReplaceAll(key, ".", "_"))
}

func (l *Loaded) addEnv(getenv func(string) string) error {
	for _, f := range l.fields() {
		name := EnvName(f.key)
		text := getenv(name)
		if text == "" || !f.settable() {
			continue
		}
		if err := f.set(text); err != nil {
			return fmt.Errorf("%w: %s: %w", ErrConfig, name, err)
		}
		l.origins[f.key] = name
		l.oneAgent(f.key == "agent.use" && getenv(EnvName("agent.command")) == "", f.key == "agent.command")
		if key, why := l.invalid(); key == f.key {
			return fmt.Errorf("%w: %s: %s", ErrConfig, name, why)
		}
	}
	return nil
}

// UnknownKeyError is a setting that there is none of, such as run.limmit.
type UnknownKeyError struct {
	Place string // file:line
	Key   string
}

func (e *UnknownKeyError) Error() string {
	return fmt.Sprintf("%v: %s: unknown key %s", ErrConfig, e.Place, e.Key)
}

func (e *UnknownKeyError) Unwrap() error { return ErrConfig }

func explain(path string, data []byte, err error) error {
	var unknown *toml.StrictMissingError
	var wrong *toml.DecodeError
	var value *valueError
	switch {
	case errors.As(err, &unknown) && len(unknown.Errors) > 0:
		first := unknown.Errors[0]
		row, _ := first.Position()
		return &UnknownKeyError{Place: fmt.Sprintf("%s:%d", path, row), Key: strings.Join(first.Key(), ".")}
	case errors.As(err, &wrong):
		row, _ := wrong.Position()
		return fmt.Errorf("%w: %s:%d: %s", ErrConfig, path, row, mistyped(wrong))
	case errors.As(err, &value): // of a value without quotes, whose place the library does not report
		return fmt.Errorf("%w: %s:%d: %w", ErrConfig, path, lineOfValue(data, value.text), err)
	default:
		return fmt.Errorf("%w: %s: %w", ErrConfig, path, err)
	}
}

func lineOfValue(data []byte, value string) int {
	for i, text := range strings.Split(string(data), "\n") {
		_, after, _ := strings.Cut(text, "=")
		after, _, _ = strings.Cut(after, "#")
		if strings.TrimSpace(after) == value {
			return i + 1
		}
	}
	return 1
}

// mistyped says in words which kind of value a key takes. The library names types of
// Go, which are nothing to whoever wrote the file.
func mistyped(err *toml.DecodeError) string {
	text := strings.TrimPrefix(err.Error(), "toml: ")
	ofType := regexp.MustCompile(`^cannot decode TOML (.+) into (?:.* of type )?(\S+)$`) // here, because every command would pay for it
	m := ofType.FindStringSubmatch(text)
	if m == nil || len(err.Key()) == 0 {
		return text
	}
	wanted, ok := map[string]string{
		"string": "a text in quotes", "bool": "true or false", "int": "a whole number", "int64": "a whole number",
		"float64": "a number", "[]string": `a list of texts, like ["a", "b"]`, "project.Duration": `a duration, like "90s" or "2d12h"`,
		"project.Size": `a size, like "512MiB" or "4GiB"`,
	}[m[2]]
	if !ok {
		wanted = "a table of its own"
	}
	return fmt.Sprintf("%s: it is %s, not %s", strings.Join(err.Key(), "."), wanted, withArticle(m[1]))
}

func withArticle(kind string) string {
	if strings.ContainsAny(kind[:1], "aeiou") {
		return "an " + kind
	}
	return "a " + kind
}
