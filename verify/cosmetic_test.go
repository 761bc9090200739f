package verify

import (
	"testing"

	"ralph/internal/testing/check"
)

func TestCosmetic(t *testing.T) {
	t.Parallel()
	file := func(name, lines string) string {
		return "diff --git a/" + name + " b/" + name + "\n--- a/" + name + "\n+++ b/" + name + "\n@@ -1,9 +1,9 @@ func f() {\n" + lines
	}
	tests := map[string]struct {
		patch string
		want  bool
	}{
		"nothing at all":              {"", false},
		"a comment more":              {file("a.go", " x()\n+// why\n"), true},
		"a comment gone":              {file("a.py", " x()\n-# why\n"), true},
		"another indentation":         {file("a.go", "-x()\n+\tx()\n"), true},
		"a line broken in two":        {file("a.go", "-f(x, y)\n+f(x,\n+\ty)\n\\ No newline at end of file\n"), true},
		"a blank line more":           {file("a.txt", "+\n"), true},
		"code behind a comment":       {file("a.go", "+// why\n+y()\n"), false},
		"a sign of another language":  {file("a.go", "+# why\n"), false},
		"text without comments":       {file("README.md", "+# why\n"), false},
		"a build constraint":          {file("a.go", "+//go:build ignore\n"), false},
		"an interpreter":              {file("a.sh", "-#!/bin/sh\n+#!/bin/bash\n"), false},
		"an instruction to a machine": {file("a.c", "+#define X 1\n"), false},
		"one of two files has code":   {file("a.go", "+// why\n") + file("b.go", "-x()\n+y()\n"), false},
		"two files of comments":       {file("a.go", "+// why\n") + file("Makefile", "+# why\n"), true},
		"a new mode":                  {"diff --git a/x b/x\nold mode 100644\nnew mode 100755\n", false},
		"a binary file":               {"diff --git a/x b/x\nBinary files a/x and b/x differ\n", false},
	}
	for name, tt := range tests {
		check.Equal(t, name, tt.want, Cosmetic(tt.patch))
	}
}
