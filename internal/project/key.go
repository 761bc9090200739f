package project

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"

	"ralph/internal/permission"
	"ralph/internal/plain"
)

// Group is who sets a key, and what reads it.
type Group int

// The groups of keys, in the order of docs/config.md.
const (
	Common    Group = iota // what people set
	Expert                 // what has a good default
	Named                  // entries under names that users choose, and lists of them
	Serve                  // read by ralph serve only
	OnServers              // read by ralph-temporal
	Fixed                  // has one value for everybody: files of earlier versions and tests may have another
	Parts                  // what earlier versions called a part of another key
)

// Key is one thing that can be configured.
type Key struct {
	row
	Group Group
}

type row struct {
	Name string
	at   any    // a pointer to the value, or a compound
	Old  string // its name in earlier versions, if it had another
	rule rule
	Doc  string // a sentence in Markdown
}

// rule is what a value may be.
type rule struct {
	least   string // the smallest number or duration; empty means 0
	most    string // the largest amount
	oneOf   string // words, one of which it is
	orEmpty bool   // or it is empty
	is      string // what badText knows
	paths   bool   // a list that a variable sets like PATH
	adds    bool   // the lists of all files count together
	own     bool   // no variable sets it: ralph gives agents one of that name
	of      string // the key that has replaced it, together with others
}

// ruleOf reads the rule of a field of an entry from its tags.
func ruleOf(tag reflect.StructTag) rule {
	return rule{least: tag.Get("least"), is: tag.Get("is")}
}

// compound is a value that is kept in several fields, or written in several ways.
type compound interface {
	set(given any) (why string) // a text, a list of texts, or what TOML has else
	shown() any
	kind() string
}

// Variables are the environment variables that set a key, the one that counts first.
func (k Key) Variables() (names []string) {
	if k.Group == Named || k.rule.own || k.isEntries() {
		return nil
	}
	for _, name := range []string{k.Name, k.Old} {
		if name != "" {
			names = append(names, EnvName(name))
		}
	}
	return names
}

// EnvName is the variable that sets a key.
func EnvName(key string) string {
	return "RALPH_" + strings.ToUpper(strings.ReplaceAll(key, ".", "_"))
}

// thing is what it sets: the key that has replaced it, or itself.
func (k Key) thing() string { return cmp.Or(k.rule.of, k.Name) }

// now is the name of today for one that a file has, if that is another.
func (k Key) now(name string) string {
	if name == k.thing() {
		return ""
	}
	return k.thing()
}

// isEntries says that its values are tables: under names, or in a list.
func (k Key) isEntries() bool {
	if _, ok := k.at.(compound); ok {
		return false
	}
	t := reflect.TypeOf(k.at).Elem()
	return t.Kind() == reflect.Map || t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct
}

// Kind says in words what its value is.
func (k Key) Kind() string {
	if c, ok := k.at.(compound); ok {
		return c.kind()
	}
	if words := strings.Fields(k.rule.oneOf); len(words) > 0 {
		return strings.Join(words, ", ")
	}
	switch k.at.(type) {
	case *string:
		return "text"
	case *bool:
		return "true or false"
	case *int, *int64:
		return "whole number"
	case *float64:
		return "amount"
	case *Duration:
		return "duration"
	case *Size:
		return "size"
	case *[]string:
		return "list of texts"
	}
	return "entries"
}

// Offered says that people may want to set it: it is neither fixed nor an entry with a name of its own.
func (k Key) Offered() bool { return k.Group < Fixed && !k.isEntries() }

// Values are the words that it can be, if there are few.
func (k Key) Values() []string {
	switch k.at.(type) {
	case *bool:
		return []string{"true", "false"}
	case anomaliesValue:
		return anomalyWords()
	}
	return strings.Fields(k.rule.oneOf)
}

// Shown is its value as `ralph config show` prints it.
func (k Key) Shown() any {
	switch at := k.at.(type) {
	case compound:
		return at.shown()
	case *Duration:
		return at.String()
	case *Size:
		return at.String()
	case *[]string:
		return append([]string{}, *at...)
	}
	return reflect.ValueOf(k.at).Elem().Interface()
}

// setText sets it to what somebody typed or a variable has.
func (k Key) setText(text string) (err error) {
	if strings.HasPrefix(strings.TrimSpace(text), "[") {
		switch k.at.(type) {
		case compound, *[]string:
			given, why := listOf(text)
			if why == "" {
				why = k.set(given)
			}
			return spoken(why)
		}
	}
	kind := "a whole number"
	switch at := k.at.(type) {
	case compound:
		return spoken(at.set(text))
	case *string:
		*at = text
	case *[]string:
		if *at = []string{text}; k.rule.paths {
			*at = filepath.SplitList(text)
		}
	case *Duration:
		return at.UnmarshalText([]byte(text))
	case *Size:
		return at.UnmarshalText([]byte(text))
	case *bool:
		if *at, err = strconv.ParseBool(text); err != nil {
			return fmt.Errorf("%q is neither true nor false", text)
		}
	case *int:
		*at, err = strconv.Atoi(text)
	case *int64:
		*at, err = strconv.ParseInt(text, 10, 64)
	case *float64:
		*at, err = strconv.ParseFloat(text, 64)
		kind = "an amount"
	}
	if err != nil {
		return fmt.Errorf("%q is not %s", text, kind)
	}
	return nil
}

// listOf reads a list as it is written in a file.
func listOf(text string) (given any, why string) {
	var file struct{ Value any }
	if err := toml.Unmarshal([]byte("Value = "+text), &file); err != nil {
		return nil, fmt.Sprintf(`%q is not a list like ["a", "b"]`, text)
	}
	return file.Value, ""
}

func spoken(why string) error {
	if why == "" {
		return nil
	}
	return fmt.Errorf("%s", why)
}

// set is for a value that a file has.
func (k Key) set(given any) (why string) {
	if c, ok := k.at.(compound); ok {
		return c.set(given)
	}
	into(reflect.ValueOf(k.at).Elem(), given, "", func(_, problem string) { why = problem })
	return why
}

// invalid says what is wrong with a value of the right type.
func (k Key) invalid() string {
	if c, ok := k.at.(interface{ invalid() string }); ok {
		return c.invalid()
	}
	return k.rule.broken(k.at)
}

// wrong is the name of what is invalid in it, and why. earlier are the entries of the files before.
func (k Key) wrong(earlier reflect.Value) (name, why string) {
	if why := k.invalid(); why != "" {
		return k.Name, why
	}
	for _, e := range k.entries() {
		if name, why := e.invalid(); why != "" {
			return name, why
		}
	}
	if list := reflect.ValueOf(k.at); k.isEntries() && list.Elem().Kind() == reflect.Slice {
		if i, why := repeated(earlier, list.Elem()); why != "" {
			return fmt.Sprintf("%s.%d", k.Name, i+1), why
		}
	}
	return "", ""
}

func (r rule) broken(by any) string {
	switch at := by.(type) {
	case *int:
		return r.tooSmall(int64(*at))
	case *int64:
		return r.tooSmall(*at)
	case *float64:
		if most, err := strconv.ParseFloat(r.most, 64); err == nil && !(*at >= 0 && *at <= most) {
			return fmt.Sprintf("%v is not a number from 0 to %v", *at, most)
		}
		return badAmount(*at)
	case *Duration:
		if least, _ := time.ParseDuration(r.least); at.Std() < least {
			return fmt.Sprintf("%s is too short; the least is %s", at, least)
		}
	case *string:
		words := strings.Fields(r.oneOf)
		if len(words) > 0 && !(*at == "" && r.orEmpty) && !slices.Contains(words, *at) {
			return fmt.Sprintf("%q is not one of %s", *at, strings.Join(words, ", "))
		}
		return badText(r.is, *at)
	case *[]string:
		if r.is == "rules" {
			_, why := permission.Lists{Deny: *at}.Invalid()
			return why
		}
		for _, text := range *at {
			if why := badText(r.is, text); why != "" {
				return why
			}
		}
	}
	return ""
}

func (r rule) tooSmall(n int64) string {
	least, _ := strconv.ParseInt(r.least, 10, 64)
	if n >= least {
		return ""
	}
	return fmt.Sprintf("%d is too small; the least is %d", n, least)
}

func badAmount(amount float64) string {
	if !(amount >= 0) || math.IsInf(amount, 0) {
		return "it must be an amount that is not negative"
	}
	return ""
}

// Keys lists the keys with their values by default.
func Keys() []Key {
	c := Default()
	return c.keys()
}

// find is the key of a name, of today or of earlier versions; isSection says that names of keys begin with it.
func find(keys []Key, name string) (found *Key, isSection bool) {
	for i, k := range keys {
		if k.Name == name || k.Old == name && name != "" {
			found = &keys[i]
		}
		isSection = isSection || strings.HasPrefix(k.Name, name+".") || strings.HasPrefix(k.Old, name+".")
	}
	return found, isSection
}

// Suggest is the key, or the section, that was probably meant: the nearest name, or the same word in another section.
func Suggest(typed string) string {
	for _, k := range Keys() {
		if k.isEntries() && strings.HasPrefix(typed, k.Name+".") {
			return k.suggest(typed)
		}
	}
	var names, sections []string
	for _, k := range Keys() {
		if k.Group >= Fixed {
			continue
		}
		names = append(names, k.Name)
		if section, _, ok := cutLast(k.Name); ok {
			sections = append(sections, section)
		}
	}
	if near := plain.Nearest(typed, append(slices.Clone(names), sections...)); near != "" {
		return near
	}
	_, word, _ := cutLast(typed)
	for _, k := range Keys() {
		if _, last, _ := cutLast(k.Name); last == word && k.Group != Fixed {
			return k.thing()
		}
		if _, last, _ := cutLast(k.Old); last == word && k.Group != Fixed {
			return k.Name
		}
	}
	var old []string
	for _, k := range Keys() {
		old = append(old, k.Old)
		if k.Group >= Fixed {
			old = append(old, k.Name)
		}
	}
	k, _ := find(Keys(), plain.Nearest(typed, old))
	if k == nil {
		return ""
	}
	return k.thing()
}

// suggest is the field of an entry that was probably meant.
func (k Key) suggest(typed string) string {
	section, word, _ := cutLast(typed)
	if near := plain.Nearest(word, k.fieldNames()); near != "" {
		return section + "." + near
	}
	return ""
}

// cutLast parts a name from its section.
func cutLast(name string) (section, last string, ok bool) {
	if at := strings.LastIndex(name, "."); at >= 0 {
		return name[:at], name[at+1:], true
	}
	return "", name, false
}
