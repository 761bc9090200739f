package jsonval

import (
	"strings"
	"testing"
	"time"

	"ralph/internal/testing/check"
)

type inner struct {
	ID         string
	MaxRetries int
	tags       []string
}

func TestFieldsAreFoundByTheirKeys(t *testing.T) {
	t.Parallel()
	type outer struct {
		inner
		Tags  []string
		Place struct{ Name string }
		Took  time.Duration
		Owner string
	}
	v := outer{inner: inner{ID: "a", MaxRetries: 2, tags: []string{"not", "these"}}, Took: time.Second}
	v.Place.Name = "here"
	got, err := Fields[outer](`id max_retries tags name=Place.Name took_ms=Took claimed_by=Owner? owner`)(v).MarshalJSON()
	check.OK(t, err)
	check.Equal(t, "object", `{"id":"a","max_retries":2,"tags":[],"name":"here","took_ms":1000,"claimed_by":null,"owner":""}`, strings.ReplaceAll(string(got), "\n", ""))
}

func TestAKeyWithoutAFieldIsABug(t *testing.T) {
	t.Parallel()
	defer func() {
		check.Contains(t, "panic", "has no field for nothing", recover().(string))
	}()
	Fields[inner]("id nothing")(inner{})
}
