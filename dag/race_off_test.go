//go:build !race

package dag_test

const raceDetector = false
