package glob

import (
	"slices"
	"testing"
)

func TestGlobs(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		globs []string
		yes   []string
		no    []string
	}{
		"a name is at the top":          {[]string{"Makefile"}, []string{"Makefile"}, []string{"sub/Makefile", "Makefile2"}},
		"a name anywhere":               {[]string{"**/Makefile"}, []string{"Makefile", "sub/Makefile", "a/b/Makefile"}, []string{"a/b/Makefile2"}},
		"a folder is all that is in it": {[]string{"ci"}, []string{"ci/a", "ci/b/c", "ci"}, []string{"cia", "a/ci/b"}},
		"a folder with a slash":         {[]string{"ci/"}, []string{"ci/a", "ci/b/c"}, []string{"cia"}},
		"all below a folder":            {[]string{"ci/**"}, []string{"ci/a", "ci/b/c"}, []string{"ci", "cia"}},
		"folders between":               {[]string{"a/**/z"}, []string{"a/z", "a/b/z", "a/b/c/z"}, []string{"a/b", "z", "b/a/z"}},
		"two wide places":               {[]string{"**/a/**/z"}, []string{"a/z", "x/a/y/z", "a/b/a/z"}, []string{"x/b/z"}},
		"within a name":                 {[]string{"*.y?ml", "[a-c]x"}, []string{"x.yaml", "bx"}, []string{"sub/x.yaml", "dx", "x.yml"}},
		"taken out again":               {[]string{"ci/**", "!ci/docs/**", "ci/docs/x"}, []string{"ci/a", "ci/docs/x"}, []string{"ci/docs/y"}},
		"everything":                    {[]string{"**"}, []string{"a", "a/b"}, nil},
		"nothing":                       {nil, nil, []string{"a", ".ralph.toml"}},
	}
	for name, tt := range tests {
		for _, glob := range tt.globs {
			if err := Valid(glob); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		for _, path := range tt.yes {
			if !Match(tt.globs, path) {
				t.Errorf("%s: %s is not matched by %q", name, path, tt.globs)
			}
		}
		for _, path := range tt.no {
			if Match(tt.globs, path) {
				t.Errorf("%s: %s is matched by %q", name, path, tt.globs)
			}
		}
	}
}

func TestGlobsThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	for _, glob := range []string{"", "!", "/", "/etc", "a//b", "../x", "a/./b", "a/..", "[", "a/[b", `a\`, "a**", "**b/c"} {
		if err := Valid(glob); err == nil {
			t.Errorf("%q is taken as valid", glob)
		}
	}
}

func TestFilesOutsideOfGlobs(t *testing.T) {
	t.Parallel()
	files := []string{"a/x", "b/y", "c"}
	for name, tt := range map[string]struct{ globs, want []string }{
		"none":        {nil, nil},
		"some":        {[]string{"a/", "c"}, []string{"b/y"}},
		"the project": {[]string{"."}, nil},
	} {
		if got := Outside(files, tt.globs); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}
