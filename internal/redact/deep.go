package redact

import "reflect"

// Deep returns a copy of v in which every string is redacted, however deep it
// stands. The names of map entries stay, and so do strings of a type of their own,
// which are words of ours.
func Deep[T any](r *Redactor, v T) T {
	if r.known() == &none {
		return v
	}
	out := reflect.New(reflect.TypeFor[T]()).Elem()
	out.Set(reflect.ValueOf(&v).Elem())
	r.deep(out)
	return out.Interface().(T)
}

// deep redacts what v holds. What is shared with the original is copied first.
func (r *Redactor) deep(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if v.Type() == reflect.TypeFor[string]() {
			v.SetString(r.Text(v.String()))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if field := v.Field(i); field.CanSet() {
				r.deep(field)
			}
		}
	case reflect.Pointer:
		if !v.IsNil() {
			fresh := reflect.New(v.Type().Elem())
			fresh.Elem().Set(v.Elem())
			r.deep(fresh.Elem())
			v.Set(fresh)
		}
	case reflect.Slice:
		if !v.IsNil() {
			fresh := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
			reflect.Copy(fresh, v)
			for i := range fresh.Len() {
				r.deep(fresh.Index(i))
			}
			v.Set(fresh)
		}
	case reflect.Map:
		if !v.IsNil() {
			fresh := reflect.MakeMapWithSize(v.Type(), v.Len())
			for at := v.MapRange(); at.Next(); {
				value := reflect.New(v.Type().Elem()).Elem()
				value.Set(at.Value())
				r.deep(value)
				fresh.SetMapIndex(at.Key(), value)
			}
			v.Set(fresh)
		}
	case reflect.Interface:
		if !v.IsNil() {
			fresh := reflect.New(v.Elem().Type()).Elem()
			fresh.Set(v.Elem())
			r.deep(fresh)
			v.Set(fresh)
		}
	default: // numbers, functions: no text
	}
}
