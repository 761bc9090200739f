package verify

import (
	"testing"

	"ralph/internal/git"
	"ralph/internal/testing/check"
)

func TestCosmetic(t *testing.T) {
	t.Parallel()
	file := func(name, lines string) git.Change {
		return git.Change{Path: name, Patch: "diff --git a/" + name + " b/" + name + "\n--- a/" + name + "\n+++ b/" + name + "\n@@ -1,9 +1,9 @@ func f() {\n" + lines}
	}
	of := func(changes ...git.Change) []git.Change { return changes }
	tests := map[string]struct {
		changes []git.Change
		want    bool
	}{
		"nothing at all":              {nil, false},
		"a comment more":              {of(file("a.go", " x()\n+// why\n")), true},
		"a comment gone":              {of(file("a.py", " x()\n-# why\n")), true},
		"another indentation":         {of(file("a.go", "-x()\n+\tx()\n")), true},
		"a line broken in two":        {of(file("a.go", "-f(x, y)\n+f(x,\n+\ty)\n\\ No newline at end of file\n")), true},
		"a blank line more":           {of(file("a.txt", "+\n")), true},
		"code behind a comment":       {of(file("a.go", "+// why\n+y()\n")), false},
		"a sign of another language":  {of(file("a.go", "+# why\n")), false},
		"text without comments":       {of(file("README.md", "+# why\n")), false},
		"a build constraint":          {of(file("a.go", "+//go:build ignore\n")), false},
		"an interpreter":              {of(file("a.sh", "-#!/bin/sh\n+#!/bin/bash\n")), false},
		"an instruction to a machine": {of(file("a.c", "+#define X 1\n")), false},
		"one of two files has code":   {of(file("a.go", "+// why\n"), file("b.go", "-x()\n+y()\n")), false},
		"two files of comments":       {of(file("a.go", "+// why\n"), file("Makefile", "+# why\n")), true},
		"a new mode":                  {of(git.Change{Path: "x", Patch: "diff --git a/x b/x\nold mode 100644\nnew mode 100755\n"}), false},
		"a binary file":               {of(git.Change{Path: "x", Patch: "diff --git a/x b/x\nBinary files a/x and b/x differ\n"}), false},
	}
	for name, tt := range tests {
		check.Equal(t, name, tt.want, Cosmetic(tt.changes))
	}
}
