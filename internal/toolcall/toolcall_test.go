package toolcall

import (
	"encoding/json"
	"strings"
	"testing"

	"ralph/internal/testing/check"
)

// What agents say in several messages, each in its own words, is one call.
func TestWhatIsSaidOfACall(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		said []string
		want Call
	}{
		"a command":        {[]string{`{"kind":"execute","title":"Run","rawInput":{"command":"make"}}`}, Call{Kind: "execute", Command: "make", Text: "Run"}},
		"words":            {[]string{`{"kind":"execute","rawInput":{"cmd":["sh","-c","it's done"]}}`}, Call{Kind: "execute", Command: `sh -c "it's done"`}},
		"two commands":     {[]string{`{"rawInput":{"Cmd":"make","command":""}}`}, Call{Kind: "execute", Command: "make"}},
		"only a title":     {[]string{"{\"kind\":\"execute\",\"title\":\"`ls`\"}"}, Call{Kind: "execute", Command: "ls", Text: "`ls`"}},
		"said later":       {[]string{`{"title":"Shell"}`, `{"kind":"execute","rawInput":{"command":"ls"}}`}, Call{Kind: "execute", Command: "ls", Text: "Shell"}},
		"said before":      {[]string{`{"kind":"execute","rawInput":{"command":"ls"}}`, `{"title":"Done"}`}, Call{Kind: "execute", Command: "ls", Text: "Done"}},
		"a tool's command": {[]string{`{"kind":"edit","rawInput":{"command":"insert","path":"a.go"}}`}, Call{Kind: "edit", Paths: []string{"in/a.go"}}},
		"a command reads":  {[]string{`{"kind":"read","rawInput":{"command":"cat a","path":"a"}}`}, Call{Kind: "read", Command: "cat a", Paths: []string{"in/a"}}},
		"an address":       {[]string{`{"kind":"fetch","title":"Fetch","rawInput":{"url":"https://example.com"}}`}, Call{Kind: "fetch", Text: "https://example.com"}},
		"files": {
			[]string{`{"kind":"edit","rawInput":{"file_path":"c"},"locations":[{"path":"b"},{"path":"a"}],"content":[{"type":"diff","path":"a"},{"type":"content","path":"x"}]}`},
			Call{Kind: "edit", Paths: []string{"in/a", "in/b", "in/c"}},
		},
		"an empty file":  {[]string{`{"kind":"edit","locations":[{"path":"a"}]}`, `{"rawInput":{"path":""}}`}, Call{Kind: "edit", Paths: []string{"in/a"}}},
		"of other types": {[]string{`{"kind":"other","title":"x","rawInput":[7],"content":"y","locations":"z"}`}, Call{Kind: "other", Text: "x"}},
	} {
		var got Call
		for _, text := range tc.said {
			var s Said
			check.OK(t, json.Unmarshal([]byte(text), &s))
			got = s.Call(func(path string) string { return "in/" + path }).Or(got)
		}
		check.Equal(t, name, tc.want, got.Complete())
	}
	var many Said
	check.OK(t, json.Unmarshal([]byte(`{"locations":[`+strings.Repeat(`{"path":"a"},`, 1000)+`{"path":"b"}]}`), &many))
	check.Equal(t, "many", []string{"a"}, many.Call(func(path string) string { return path }).Paths)
}
