package project

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// Setting is one value as `ralph config show` prints it.
type Setting struct {
	Key    string `json:"key"`
	Value  any    `json:"value"`
	Origin string `json:"origin"`
}

// Settings lists every value with where it came from: of those that are fixed, what somebody set.
func (l Loaded) Settings() (list []Setting) {
	for _, k := range l.keys() {
		switch {
		case k.isEntries():
			for _, e := range k.entries() {
				shown := e.key
				if !k.rule.adds && !e.named { // a later file replaces them all
					shown = k.Name
				}
				list = append(list, Setting{shown, e.value(), l.Origin(shown)})
			}
		case k.Group == Parts, k.Shown() == nil, k.Group == Fixed && !l.Given(k.Name):
		default:
			list = append(list, Setting{k.Name, k.Shown(), l.Origin(k.Name)})
		}
	}
	return list
}

// entry is a table under a name that a user chose, or in a list.
type entry struct {
	key   string
	at    any
	named bool
	tag   rule // of an entry that is a value and no table
}

// entries lists those of a key.
func (k Key) entries() (list []entry) {
	if !k.isEntries() {
		return nil
	}
	v := reflect.ValueOf(k.at).Elem()
	if v.Kind() == reflect.Slice {
		for i := range v.Len() {
			list = append(list, entry{key: fmt.Sprintf("%s.%d", k.Name, i+1), at: v.Index(i).Interface()})
		}
		return list
	}
	for _, name := range slices.Sorted(maps.Keys(namesIn(v))) {
		list = append(list, entry{k.Name + "." + name, v.MapIndex(reflect.ValueOf(name)).Interface(), true, k.rule})
	}
	return list
}

func namesIn(v reflect.Value) map[string]bool {
	names := map[string]bool{}
	for _, name := range v.MapKeys() {
		names[name.String()] = true
	}
	return names
}

func (e entry) value() any {
	switch at := e.at.(type) {
	case fmt.Stringer:
		return at.String()
	case PriceConfig:
		return at.amounts()
	}
	return e.at
}

func (e entry) invalid() (key, why string) {
	v := reflect.New(reflect.TypeOf(e.at)) // what is in a map has no address
	v.Elem().Set(reflect.ValueOf(e.at))
	if v.Elem().Kind() != reflect.Struct {
		return e.key, e.tag.broken(v.Interface())
	}
	for i := range v.Elem().NumField() {
		f, tag := v.Elem().Field(i), v.Elem().Type().Field(i).Tag
		if f.Kind() != reflect.Pointer {
			f = f.Addr()
		}
		if f.IsNil() {
			continue
		}
		if why := ruleOf(tag).broken(f.Interface()); why != "" {
			return e.key + "." + tag.Get("toml"), why
		}
	}
	if at, ok := e.at.(interface{ invalid() string }); ok {
		return e.key, at.invalid()
	}
	return "", ""
}
