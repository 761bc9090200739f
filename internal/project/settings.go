package project

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"ralph/internal/human"
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
	for _, pattern := range slices.Sorted(maps.Keys(c.Prices)) {
		list = append(list, Setting{Key: "prices." + pattern, Value: c.Prices[pattern].amounts()})
	}
	for _, name := range slices.Sorted(maps.Keys(c.Locks)) {
		list = append(list, Setting{Key: "locks." + name, Value: c.Locks[name]})
	}
	for _, name := range slices.Sorted(maps.Keys(c.Agents)) {
		list = append(list, Setting{Key: "agents." + name, Value: cmp.Or(c.Agents[name].Command, c.Agents[name].Like)})
	}
	for _, name := range slices.Sorted(maps.Keys(c.MCP)) {
		list = append(list, Setting{Key: "mcp." + name, Value: cmp.Or(c.MCP[name].Command, c.MCP[name].URL)})
	}
	for _, r := range c.Verify.Reviewers {
		list = append(list, Setting{Key: "verify.reviewer", Value: strings.Join(human.Parts(r.Focus, r.Agent, r.Model), ", ")})
	}
	for i, n := range c.Notify {
		list = append(list, Setting{Key: fmt.Sprintf("notify.%d", i+1), Value: n.String()})
	}
	for i, h := range c.Hooks {
		list = append(list, Setting{Key: fmt.Sprintf("hooks.%d", i+1), Value: h.Hook().String()})
	}
	for i, s := range c.Schedules {
		list = append(list, Setting{Key: fmt.Sprintf("schedule.%d", i+1), Value: s.String()})
	}
	for i, in := range c.Inbound {
		list = append(list, Setting{Key: fmt.Sprintf("inbound.%d", i+1), Value: in.String()})
	}
	for i, chat := range c.Chat {
		list = append(list, Setting{Key: fmt.Sprintf("chat.%d", i+1), Value: chat.String()})
	}
	for i := range list {
		list[i].Origin = l.Origin(list[i].Key)
	}
	return list
}

// field is a field of Config with a fixed key. Its tags say what it may be: least for
// the smallest number (0 if it is not there), most for the largest amount, oneof for a choice of words, none:"ok" if it may be
// empty as well, env:"paths"
// for a list that a variable can set, separated as in PATH.
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
	case *string:
		words, none := strings.Fields(f.tag.Get("oneof")), *at == "" && f.tag.Get("none") == "ok"
		if len(words) > 0 && !none && !slices.Contains(words, *at) {
			return fmt.Sprintf("%q is not one of %s", *at, strings.Join(words, ", "))
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
