// Package seeded makes property tests draw the same values each time, so that
// a change is tested on its own merit and a red build can be run again. Looking
// for new counterexamples is work of its own: RALPH_TEST_EXPLORE=1 draws
// freely (just explore), and -rapid.seed still sets any seed.
package seeded

import (
	"flag"
	"os"

	_ "pgregory.net/rapid" // registers the flag before our init runs
)

func init() {
	if os.Getenv("RALPH_TEST_EXPLORE") != "" {
		return
	}
	if err := flag.Set("rapid.seed", "1"); err != nil {
		panic("rapid has no seed flag any more: " + err.Error())
	}
}
