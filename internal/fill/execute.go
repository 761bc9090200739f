package fill

import (
	"fmt"
	"reflect"
	"strings"
)

// Execute fills the template with the fields of data. A field or a function that
// does not exist is an error, as is a field of nothing.
func (t *Template) Execute(data any) (string, error) {
	r := &run{Template: t, top: reflect.ValueOf(data)}
	if err := r.nodes(t.nodes, r.top); err != nil {
		return "", err
	}
	return r.out.String(), nil
}

type run struct {
	*Template
	top reflect.Value
	out strings.Builder
}

func (r *run) nodes(list []node, dot reflect.Value) error {
	for _, n := range list {
		if err := r.node(n, dot); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) node(n node, dot reflect.Value) error {
	if n.kind == text {
		r.out.WriteString(n.text)
		return nil
	}
	v, err := r.value(n.expr, dot)
	if err != nil {
		return err
	}
	switch n.kind {
	case show:
		r.write(v)
	case choose:
		if truth(v) {
			return r.nodes(n.body, dot)
		}
		return r.nodes(n.other, dot)
	case enter:
		if truth(v) {
			return r.nodes(n.body, v)
		}
		return r.nodes(n.other, dot)
	case each:
		if v.Kind() != reflect.Slice {
			return fmt.Errorf("range over %v", v.Kind())
		}
		for i := range v.Len() {
			if err := r.nodes(n.body, v.Index(i)); err != nil {
				return err
			}
		}
		if v.Len() == 0 {
			return r.nodes(n.other, dot)
		}
	case include:
		body, ok := r.named[n.text]
		if !ok {
			return fmt.Errorf("no template %q", n.text)
		}
		// What is included sees its value as the top, as in text/template.
		inner := &run{Template: r.Template, top: v}
		if err := inner.nodes(body, v); err != nil {
			return err
		}
		r.out.WriteString(inner.out.String())
	}
	return nil
}

func (r *run) write(v reflect.Value) {
	var value any = ""
	if v.IsValid() {
		value = v.Interface()
	}
	if r.Escape != nil {
		r.out.WriteString(r.Escape(value))
		return
	}
	fmt.Fprint(&r.out, value)
}

func (r *run) value(e expr, dot reflect.Value) (reflect.Value, error) {
	switch {
	case e.literal != nil:
		return reflect.ValueOf(e.literal), nil
	case e.call != "":
		return r.call(e, dot)
	}
	v := dot
	if e.top {
		v = r.top
	}
	for _, name := range e.path {
		for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
			v = v.Elem()
		}
		if v.Kind() != reflect.Struct {
			return v, fmt.Errorf("%s: of %v", name, v.Kind())
		}
		t := v.Type()
		if v = v.FieldByName(name); !v.IsValid() || !v.CanInterface() {
			return v, fmt.Errorf("%v has no field %s", t, name)
		}
	}
	return v, nil
}

func (r *run) call(e expr, dot reflect.Value) (reflect.Value, error) {
	args := make([]reflect.Value, len(e.args))
	plain := make([]any, len(e.args))
	for i, a := range e.args {
		v, err := r.value(a, dot)
		if err != nil {
			return v, err
		}
		if args[i] = v; v.IsValid() {
			plain[i] = v.Interface()
		}
	}
	switch {
	case len(args) == 0: // every one of ours takes something
	case e.call == "not":
		return reflect.ValueOf(!truth(args[0])), nil
	case e.call == "len":
		return reflect.ValueOf(args[0].Len()), nil
	case e.call == "ne" && len(args) == 2:
		return reflect.ValueOf(plain[0] != plain[1]), nil
	case e.call == "and" || e.call == "or":
		for _, v := range args[:len(args)-1] {
			if truth(v) == (e.call == "or") {
				return v, nil
			}
		}
		return args[len(args)-1], nil
	}
	f, ok := r.Funcs[e.call]
	if !ok {
		return reflect.Value{}, fmt.Errorf("no function %s of %d", e.call, len(args))
	}
	return reflect.ValueOf(f(plain...)), nil
}

// truth is false for what is empty: nothing, zero, and what has no elements.
func truth(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Invalid:
		return false
	case reflect.Struct:
		return true
	case reflect.Slice, reflect.Map, reflect.String:
		return v.Len() > 0
	default:
		return !v.IsZero()
	}
}
