package project

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// into decodes what a file has at a path into a value of Config, and names each problem by its path.
func into(v reflect.Value, given any, path string, problem func(path, why string)) {
	wrong := func(wanted string) { problem(path, mistyped(wanted, given)) }
	switch at := v.Addr().Interface().(type) {
	case *Duration:
		if n, ok := given.(int64); ok && n != 0 {
			problem(path, fmt.Sprintf(`%d has no unit; write it like "90s" or "10m"`, n))
			return
		}
		intoText(at.UnmarshalText, given, path, `a duration, like "90s" or "2d12h"`, problem)
		return
	case *Size:
		intoText(at.UnmarshalText, given, path, `a size, like "512MiB" or "4GiB"`, problem)
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		fresh := reflect.New(v.Type().Elem())
		into(fresh.Elem(), given, path, problem)
		v.Set(fresh)
	case reflect.String:
		if text, ok := given.(string); ok {
			v.SetString(text)
			return
		}
		wrong("a text in quotes")
	case reflect.Bool:
		if on, ok := given.(bool); ok {
			v.SetBool(on)
			return
		}
		wrong("true or false")
	case reflect.Int, reflect.Int64:
		if n, ok := given.(int64); ok && !v.OverflowInt(n) {
			v.SetInt(n)
			return
		}
		wrong("a whole number")
	case reflect.Float64:
		switch n := given.(type) {
		case float64:
			v.SetFloat(n)
		case int64:
			v.SetFloat(float64(n))
		default:
			wrong("a number")
		}
	case reflect.Slice:
		intoList(v, given, path, problem)
	case reflect.Map, reflect.Struct:
		table, ok := given.(map[string]any)
		if !ok {
			wrong("a table of its own")
			return
		}
		for _, name := range slices.Sorted(maps.Keys(table)) {
			intoNamed(v, name, table[name], path+"."+name, problem)
		}
	}
}

// intoText is for what is written as a text with a unit. 0 needs neither.
func intoText(read func([]byte) error, given any, path, wanted string, problem func(path, why string)) {
	switch given.(type) {
	case string, int64, float64:
		if err := read(fmt.Append(nil, given)); err != nil {
			problem(path, err.Error())
		}
	default:
		problem(path, mistyped(wanted, given))
	}
}

func intoList(v reflect.Value, given any, path string, problem func(path, why string)) {
	tables := v.Type().Elem().Kind() == reflect.Struct
	wanted := `a list of texts, like ["a", "b"]`
	if tables {
		_, last, _ := cutLast(path)
		wanted = "a list of tables, each under [[" + last + "]]"
	}
	list, ok := given.([]any)
	if !ok {
		problem(path, mistyped(wanted, given))
		return
	}
	made := reflect.MakeSlice(v.Type(), len(list), len(list))
	for i, one := range list {
		at := path
		if tables {
			at = fmt.Sprintf("%s.%d", path, i+1)
		}
		into(made.Index(i), one, at, problem)
	}
	v.Set(made)
}

// intoNamed sets one name of a map, over what is under it already, or one field of a struct.
func intoNamed(v reflect.Value, name string, given any, path string, problem func(path, why string)) {
	if v.Kind() == reflect.Map {
		one := reflect.New(v.Type().Elem()).Elem()
		if before := v.MapIndex(reflect.ValueOf(name)); before.IsValid() {
			one.Set(before)
		}
		into(one, given, path, problem)
		if v.IsNil() {
			v.Set(reflect.MakeMap(v.Type()))
		}
		v.SetMapIndex(reflect.ValueOf(name), one)
		return
	}
	for i := range v.NumField() {
		if v.Type().Field(i).Tag.Get("toml") == name {
			into(v.Field(i), given, path, problem)
			return
		}
	}
	problem(path, "")
}

// mistyped says in words which kind of value a key has.
func mistyped(wanted string, given any) string {
	return fmt.Sprintf("it is %s, not %s", wanted, withArticle(kindOf(given)))
}

// kindOf is the kind of a value as TOML calls it.
func kindOf(given any) string {
	switch given.(type) {
	case string:
		return "string"
	case bool:
		return "boolean"
	case int64:
		return "integer"
	case float64:
		return "float"
	case []any:
		return "array"
	case map[string]any:
		return "table"
	case toml.LocalDate:
		return "local date"
	}
	return "time"
}

func withArticle(kind string) string {
	if strings.ContainsAny(kind[:1], "aeiou") {
		return "an " + kind
	}
	return "a " + kind
}
