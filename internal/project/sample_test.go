package project

import (
	"reflect"
	"strings"
	"testing"
)

// TestTheSampleConfigurationNamesEveryKey of the sections that it has: what is not there is found by no one.
func TestTheSampleConfigurationNamesEveryKey(t *testing.T) {
	t.Parallel()
	_, verify, _ := strings.Cut(configTemplate, "\n[verify]")
	verify, _, _ = strings.Cut(verify, "\n# [[verify.reviewer]]")
	section := reflect.TypeFor[VerifyConfig]()
	for i := range section.NumField() {
		key := section.Field(i).Tag.Get("toml")
		if key == "commands" || key == "reviewer" { // which have a block of their own
			continue
		}
		if !strings.Contains(verify, "\n# "+key+" = ") {
			t.Errorf("[verify] %s is missing", key)
		}
	}
}
