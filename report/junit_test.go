package report_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strconv"
	"testing"

	"ralph/internal/testing/check"
	"ralph/report"
)

// junitElement is what the common JUnit schemas (Jenkins' junit-10, Surefire's) have
// in common about an element: its attributes, those it must have, and its children
// in the order that the stricter one wants.
type junitElement struct {
	attributes, required, children []string
}

var junitSchema = map[string]junitElement{
	"testsuites": {[]string{"name", "tests", "failures", "errors", "time"}, nil, []string{"testsuite"}},
	"testsuite": {
		[]string{"name", "tests", "failures", "errors", "skipped", "time", "timestamp"},
		[]string{"name", "tests", "failures", "errors", "skipped", "time"},
		[]string{"properties", "testcase"},
	},
	"properties": {nil, nil, []string{"property"}},
	"property":   {[]string{"name", "value"}, []string{"name", "value"}, nil},
	"testcase": {
		[]string{"name", "classname", "time"},
		[]string{"name", "classname", "time"},
		[]string{"failure", "rerunFailure", "flakyFailure", "skipped", "error", "system-out"},
	},
	"failure":      {[]string{"message", "type"}, []string{"type"}, nil},
	"error":        {[]string{"message", "type"}, []string{"type"}, nil},
	"skipped":      {[]string{"message", "type"}, nil, nil},
	"rerunFailure": {[]string{"message", "type"}, []string{"type"}, []string{"stackTrace"}},
	"flakyFailure": {[]string{"message", "type"}, []string{"type"}, []string{"stackTrace"}},
	"stackTrace":   {}, "system-out": {},
}

// checkJUnit holds a document to the schema, and its counts to its cases.
func checkJUnit(t *testing.T, data []byte) {
	t.Helper()
	type frame struct {
		name string
		last int // the child that came last, by its place in the schema
	}
	var stack []frame
	found, stated := map[string]int{}, map[string]int{}
	dec := xml.NewDecoder(bytes.NewReader(data))
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("no XML: %v", err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			name := token.Name.Local
			spec, known := junitSchema[name]
			if !known {
				t.Fatalf("unknown element %s", name)
			}
			found[name]++
			if len(stack) > 0 {
				top := &stack[len(stack)-1]
				place := slices.Index(junitSchema[top.name].children, name)
				check.That(t, place >= 0 && place >= top.last, "%s cannot stand there in %s", name, top.name)
				top.last = place
			}
			var have []string
			for _, a := range token.Attr {
				have = append(have, a.Name.Local)
				check.That(t, slices.Contains(spec.attributes, a.Name.Local), "%s has no attribute %s", name, a.Name.Local)
				if n, err := strconv.Atoi(a.Value); err == nil && name == "testsuite" {
					stated[a.Name.Local] = n
				}
				if _, err := strconv.ParseFloat(a.Value, 64); err != nil && a.Name.Local == "time" {
					t.Errorf("time of %s is %q", name, a.Value)
				}
			}
			for _, r := range spec.required {
				check.That(t, slices.Contains(have, r), "%s needs %s", name, r)
			}
			stack = append(stack, frame{name, 0})
		case xml.EndElement:
			stack = stack[:len(stack)-1]
		}
	}
	for attribute, element := range map[string]string{"tests": "testcase", "failures": "failure", "errors": "error", "skipped": "skipped"} {
		check.That(t, stated[attribute] == found[element], "%s=%d, but there are %d", attribute, stated[attribute], found[element])
	}
}

func TestJUnitKeepsToItsSchema(t *testing.T) {
	t.Parallel()
	_, r := story(t)
	var b bytes.Buffer
	check.OK(t, report.JUnit(&b, r))
	checkJUnit(t, b.Bytes())
	r = report.Run{ID: "r-00000001", Scope: "everything"}
	b.Reset()
	check.OK(t, report.JUnit(&b, r))
	checkJUnit(t, b.Bytes())
}
