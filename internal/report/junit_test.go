package report_test

import (
	"bytes"
	"encoding/xml"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ralph/internal/report"
	"ralph/internal/testing/check"
)

// junitSchema is what the common JUnit schemas (Jenkins' junit-10, Surefire's) have in common about an
// element: its attributes, with a ! those it must have, and its children in the order that the stricter one wants.
var junitSchema = map[string]struct{ attributes, children string }{
	"testsuites":   {"name tests failures errors time", "testsuite"},
	"testsuite":    {"name! tests! failures! errors! skipped! time! timestamp", "properties testcase"},
	"properties":   {"", "property"},
	"property":     {"name! value!", ""},
	"testcase":     {"name! classname! time!", "failure rerunFailure flakyFailure skipped error system-out"},
	"failure":      {"message type!", ""},
	"error":        {"message type!", ""},
	"skipped":      {"message type", ""},
	"rerunFailure": {"message type!", "stackTrace"},
	"flakyFailure": {"message type!", "stackTrace"},
	"stackTrace":   {}, "system-out": {},
}

type element struct {
	XMLName  xml.Name
	Attrs    []xml.Attr `xml:",any,attr"`
	Children []element  `xml:",any"`
}

// checkJUnit holds a document to the schema, and its counts to its cases.
func checkJUnit(t *testing.T, data []byte) {
	t.Helper()
	var root element
	check.OK(t, xml.Unmarshal(data, &root))
	found, stated := map[string]int{}, map[string]int{}
	var walk func(e element)
	walk = func(e element) {
		name := e.XMLName.Local
		spec, known := junitSchema[name]
		check.That(t, known, "unknown element %s", name)
		found[name]++
		missing := strings.Fields(spec.attributes)
		for _, a := range e.Attrs {
			i := slices.IndexFunc(missing, func(s string) bool { return strings.TrimSuffix(s, "!") == a.Name.Local })
			check.That(t, i >= 0, "%s has no attribute %s", name, a.Name.Local)
			missing = slices.Delete(missing, max(i, 0), i+1)
			if n, err := strconv.Atoi(a.Value); err == nil && name == "testsuite" {
				stated[a.Name.Local] = n
			}
			_, err := strconv.ParseFloat(a.Value, 64)
			check.That(t, err == nil || a.Name.Local != "time", "time of %s is %q", name, a.Value)
		}
		check.That(t, !strings.Contains(strings.Join(missing, ""), "!"), "%s needs %s", name, missing)
		last := 0
		for _, c := range e.Children {
			place := slices.Index(strings.Fields(spec.children), c.XMLName.Local)
			check.That(t, place >= last, "%s cannot stand there in %s", c.XMLName.Local, name)
			last = max(place, 0)
			walk(c)
		}
	}
	walk(root)
	for attribute, element := range map[string]string{"tests": "testcase", "failures": "failure", "errors": "error", "skipped": "skipped"} {
		check.That(t, stated[attribute] == found[element], "%s=%d, but there are %d", attribute, stated[attribute], found[element])
	}
}

func TestJUnitKeepsToItsSchema(t *testing.T) {
	t.Parallel()
	_, r := story(t)
	for _, r := range []report.Run{r, {ID: "r-00000001", Scope: "everything"}} {
		var b bytes.Buffer
		check.OK(t, report.JUnit(&b, r))
		checkJUnit(t, b.Bytes())
	}
}
