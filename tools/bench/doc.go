// Package bench measures what ralph costs, as ratios: go test -bench . -benchtime 1x. It
// is a module of its own, because the cgo SQLite that it compares with must never enter
// the product's go.mod.
package bench
