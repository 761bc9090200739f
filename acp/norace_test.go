//go:build !race

package acp

const underRace = false
