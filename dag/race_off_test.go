//go:build !race

package dag_test

const raceDetector = false

const scale = 1
