package project

import (
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"ralph/internal/seq"
)

// Setting is one value as `ralph config show` prints it.
type Setting struct {
	Key    string `json:"key"`
	Value  any    `json:"value"`
	Origin string `json:"origin"`
}

// Settings lists every value with where it came from.
func (l Loaded) Settings() []Setting {
	c := l.Config
	list := seq.Map(c.fields(), func(f field) Setting { return Setting{Key: f.key, Value: f.shown()} })
	for _, t := range c.tables() {
		if t.shown != "" {
			list = append(list, Setting{Key: t.shown, Value: t.value()})
		}
	}
	for i := range list {
		list[i].Origin = l.Origin(list[i].Key)
	}
	return list
}

// field is a field of Config with a fixed key. Its tags say what it may be: least for
// the smallest number (0 if it is not there) or duration, most for the largest amount, oneof for a choice of words, none:"ok" if it
// may be empty as well, is for what badText knows, env:"paths" for a list that a variable can set, separated as in PATH.
type field struct {
	key string
	at  any // a pointer to the value
	tag reflect.StructTag
}

// fields lists them in the order of the structs, which is that of `ralph config show`.
func (c *Config) fields() []field { return fieldsOf("", reflect.ValueOf(c).Elem()) }

func fieldsOf(prefix string, table reflect.Value) (list []field) {
	for i := range table.NumField() {
		tag, v := table.Type().Field(i).Tag, table.Field(i)
		if v.Kind() == reflect.Pointer && !v.IsNil() {
			v = v.Elem()
		}
		key := prefix + tag.Get("toml")
		switch at := v.Addr().Interface().(type) {
		case *string, *int, *int64, *float64, *bool, *Duration, *Size, *[]string:
			list = append(list, field{key, at, tag})
		default:
			if v.Kind() == reflect.Struct { // the keys of maps are names that users chose
				list = append(list, fieldsOf(key+".", v)...)
			}
		}
	}
	return list
}

// table is a section, or an entry of a list or under a name that a user chose.
type table struct {
	key    string
	at     any
	shown  string  // its key in `ralph config show`; empty for a section, of which each field is shown
	fields []field // of an entry under a name, by their keys
}

// tables lists the sections and entries in the order of the structs.
func (c *Config) tables() []table { return tablesOf("", reflect.ValueOf(c).Elem()) }

func tablesOf(prefix string, section reflect.Value) (list []table) {
	for i := range section.NumField() {
		tag, v := section.Type().Field(i).Tag, section.Field(i)
		key := prefix + tag.Get("toml")
		switch {
		case v.Kind() == reflect.Struct:
			list = append(append(list, tablesOf(key+".", v)...), table{key: key, at: v.Interface()})
		case v.Kind() == reflect.Map:
			names := seq.Map(v.MapKeys(), reflect.Value.String)
			slices.Sort(names)
			for _, name := range names {
				list = append(list, namedTable(key+"."+name, v.MapIndex(reflect.ValueOf(name)), tag))
			}
		case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Struct:
			for i := range v.Len() {
				t := table{key: fmt.Sprintf("%s.%d", key, i+1), at: v.Index(i).Interface()}
				if t.shown = t.key; prefix != "" { // a later file replaces those of a section
					t.shown = key
				}
				list = append(list, t)
			}
		}
	}
	return list
}

func namedTable(key string, v reflect.Value, tag reflect.StructTag) table {
	entry := reflect.New(v.Type()) // what is in a map has no address
	entry.Elem().Set(v)
	t := table{key: key, at: v.Interface(), shown: key}
	if v.Kind() == reflect.Struct {
		t.fields = fieldsOf(key+".", entry.Elem())
	} else {
		t.fields = []field{{key, entry.Interface(), tag}}
	}
	return t
}

func (t table) value() any {
	switch at := t.at.(type) {
	case fmt.Stringer:
		return at.String()
	case PriceConfig:
		return at.amounts()
	}
	return t.at
}

func (t table) invalid() (key, why string) {
	for _, f := range t.fields {
		if why := f.invalid(); why != "" {
			return f.key, why
		}
	}
	switch at := t.at.(type) {
	case interface{ invalid() string }:
		return t.key, at.invalid()
	case interface{ invalid() (string, string) }: // in one of its fields
		key, why = at.invalid()
		return t.key + "." + key, why
	}
	return "", ""
}

func (f field) shown() any {
	switch at := f.at.(type) {
	case *Duration:
		return at.String()
	case *Size:
		return at.String()
	case *[]string:
		return append([]string{}, *at...)
	}
	return reflect.ValueOf(f.at).Elem().Interface()
}

func (f field) settable() bool {
	_, list := f.at.(*[]string)
	return !list || f.tag.Get("env") == "paths"
}

func (f field) set(text string) (err error) {
	kind := "a whole number"
	switch at := f.at.(type) {
	case *string:
		*at = text
	case *[]string:
		*at = filepath.SplitList(text)
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

func (f field) invalid() string {
	switch at := f.at.(type) {
	case *int:
		return f.tooSmall(int64(*at))
	case *int64:
		return f.tooSmall(*at)
	case *float64:
		if most, err := strconv.ParseFloat(f.tag.Get("most"), 64); err == nil && !(*at >= 0 && *at <= most) {
			return fmt.Sprintf("%v is not a number from 0 to %v", *at, most)
		}
		return badAmount(*at)
	case *Duration:
		if *at != 0 && at.Std() < time.Millisecond { // a number without a unit is nanoseconds to TOML
			return fmt.Sprintf("%d has no unit; write it like \"90s\" or \"10m\"", at.Std().Nanoseconds())
		}
		if least, _ := time.ParseDuration(f.tag.Get("least")); at.Std() < least {
			return fmt.Sprintf("%s is too short; the least is %s", at, least)
		}
	case *string:
		words, none := strings.Fields(f.tag.Get("oneof")), *at == "" && f.tag.Get("none") == "ok"
		if len(words) > 0 && !none && !slices.Contains(words, *at) {
			return fmt.Sprintf("%q is not one of %s", *at, strings.Join(words, ", "))
		}
		return badText(f.tag.Get("is"), *at)
	case *[]string:
		for _, text := range *at {
			if why := badText(f.tag.Get("is"), text); why != "" {
				return why
			}
		}
	}
	return ""
}

func (f field) tooSmall(n int64) string {
	least, _ := strconv.ParseInt(f.tag.Get("least"), 10, 64)
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
