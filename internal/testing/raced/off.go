//go:build !race

package raced

// Scale is by how much large tests are smaller.
const Scale = 1
