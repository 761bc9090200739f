// Package seq makes lists, sets and maps of lists.
package seq

// Map returns what fn makes of each element, never nil.
func Map[T, U any](list []T, fn func(T) U) []U {
	out := make([]U, len(list))
	for i, v := range list {
		out[i] = fn(v)
	}
	return out
}

// Set returns the keys of all elements.
func Set[T any, K comparable](list []T, key func(T) K) map[K]bool {
	out := make(map[K]bool, len(list))
	for _, v := range list {
		out[key(v)] = true
	}
	return out
}

// Index returns the elements by their keys; of two with the same key, the last.
func Index[T any, K comparable](list []T, key func(T) K) map[K]T {
	out := make(map[K]T, len(list))
	for _, v := range list {
		out[key(v)] = v
	}
	return out
}
