// Package seq makes lists of lists.
package seq

// Map returns what fn makes of each element, never nil.
func Map[T, U any](list []T, fn func(T) U) []U {
	out := make([]U, len(list))
	for i, v := range list {
		out[i] = fn(v)
	}
	return out
}
