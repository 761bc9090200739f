package modelagent

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"ralph/internal/plain"
)

// newTool makes a tool whose arguments are a struct. Its fields are required unless they are marked omitempty.
func newTool[In any](t tool, about func(In) (action, error), do func(context.Context, In) (string, error)) tool {
	schema, err := jsonschema.For[In](nil)
	if err == nil {
		t.Schema, err = json.Marshal(schema)
	}
	if err != nil {
		panic(err) // it depends on nothing but the type
	}
	t.about = func(args json.RawMessage) (action, error) {
		in, err := decode[In](t.Name, schema, args)
		if err != nil {
			return action{}, err
		}
		return about(in)
	}
	t.do = func(ctx context.Context, args json.RawMessage) (string, error) {
		in, err := decode[In](t.Name, schema, args)
		if err != nil {
			return "", err
		}
		return do(ctx, in)
	}
	t.timeout = cmp.Or(t.timeout, quick)
	return t
}

// decode reads arguments as models write them. The error says what would be right.
func decode[In any](name string, schema *jsonschema.Schema, args json.RawMessage) (in In, err error) {
	members, err := object(args)
	if err == nil {
		for _, member := range schema.Required {
			if value := members[member]; value == nil || string(value) == "null" {
				err = errors.Join(err, fmt.Errorf("the argument %q is missing", member))
			}
		}
	}
	if err == nil && len(members) > 0 {
		err = json.Unmarshal(args, &in)
	}
	if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
		err = fmt.Errorf("the argument %q is a %s, which it must not be", wrong.Field, wrong.Value)
	}
	if err != nil {
		err = fmt.Errorf("%w\n%s takes an object with: %s", err, name, strings.Join(parameters(schema), ", "))
	}
	return in, err
}

// object reads the members of an object; no arguments at all are an empty one.
func object(args json.RawMessage) (members map[string]json.RawMessage, err error) {
	if args = bytes.TrimSpace(args); len(args) == 0 {
		return nil, nil
	}
	if err = json.Unmarshal(args, &members); err != nil {
		text := string(args)
		_ = json.Unmarshal(args, &text) // what the model wrote is a JSON string, if it is no JSON
		return nil, fmt.Errorf("the arguments are no JSON object: %s", plain.Cut(text, 500))
	}
	return members, nil
}

// parameters lists what a tool takes.
func parameters(schema *jsonschema.Schema) []string {
	list := make([]string, len(schema.PropertyOrder))
	for i, name := range schema.PropertyOrder {
		optional := ""
		if !slices.Contains(schema.Required, name) {
			optional = ", optional"
		}
		list[i] = fmt.Sprintf("%s (%s%s)", name, schema.Properties[name].Type, optional)
	}
	return list
}

// whole is a number. Some models write one as a string.
type whole int

// UnmarshalJSON reads 3, 3.0 and "3".
func (n *whole) UnmarshalJSON(raw []byte) error {
	text := strings.Trim(string(raw), `"`)
	if text == "null" || text == "" {
		return nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > math.MaxInt32 {
		return fmt.Errorf("%s is no whole number", plain.Cut(string(raw), 100))
	}
	*n = whole(f)
	return nil
}

// flag is true or false. Some models write it as a string.
type flag bool

// UnmarshalJSON reads true and "true".
func (f *flag) UnmarshalJSON(raw []byte) error {
	text := strings.ToLower(strings.Trim(string(raw), `"`))
	if text != "true" && text != "false" && text != "null" && text != "" {
		return fmt.Errorf("%s is neither true nor false", plain.Cut(string(raw), 100))
	}
	*f = text == "true"
	return nil
}
