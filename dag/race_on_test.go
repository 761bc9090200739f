//go:build race

package dag_test

const raceDetector = true

// scale is by how much the large tests are smaller: everything takes ten times
// as long.
const scale = 10
