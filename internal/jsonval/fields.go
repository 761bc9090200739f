package jsonval

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"unicode"
)

type field struct {
	key    string
	index  []int
	orNull bool
}

// Fields returns a function that makes an object of some fields of a struct. A key is the name of its field, max_retries
// for MaxRetries, or says which one it is: feature=Scope.Feature. One that ends with a question mark is null for what is zero.
func Fields[T any](keys string) func(T) Object {
	fields := sync.OnceValue(func() []field { return find(reflect.TypeFor[T](), keys) })
	return func(v T) Object {
		all, o := reflect.ValueOf(v), Object{}
		for _, f := range fields() {
			var value any
			if at := all.FieldByIndex(f.index); !f.orNull || !at.IsZero() {
				value = at.Interface()
			}
			o = append(o, f.key, value)
		}
		return o
	}
}

func find(t reflect.Type, keys string) (list []field) {
	for word := range strings.FieldsSeq(keys) {
		word, orNull := strings.CutSuffix(word, "?")
		key, path, named := strings.Cut(word, "=")
		if !named {
			path = strings.ReplaceAll(word, "_", "")
		}
		f, at := field{key: key, orNull: orNull}, t
		for name := range strings.SplitSeq(path, ".") {
			part, found := at.FieldByNameFunc(func(other string) bool { return strings.EqualFold(other, name) && unicode.IsUpper(rune(other[0])) })
			if !found {
				panic(fmt.Sprintf("%v has no field for %s", t, word))
			}
			f.index, at = append(f.index, part.Index...), part.Type
		}
		list = append(list, f)
	}
	return list
}
