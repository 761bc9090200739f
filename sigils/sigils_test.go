package sigils_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ralph/sigils"
)

const ours = "t-1f0c9a3e"

// In these texts | at the beginning of a line stands for a tool call.
func scan(text string) sigils.Set {
	s := sigils.NewScanner(ours)
	for i, turn := range strings.Split(text, "\n|") {
		if i > 0 {
			s.Break()
		}
		s.Write(turn)
	}
	return s.Set()
}

func TestSet(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text string
		want sigils.Set
	}{
		"plain text has no sigils":              {"All done, <b>I think</b>.", sigils.Set{}},
		"a sigil on a line of its own counts":   {"Finished.\n<task-done>t-1f0c9a3e</task-done>\nBye.", sigils.Set{Done: true}},
		"the last line needs no newline":        {"<task-done>t-1f0c9a3e</task-done>", sigils.Set{Done: true}},
		"three spaces and trailing blanks pass": {"   <task-done> t-1f0c9a3e </task-done> \t\r\n", sigils.Set{Done: true}},
		"a tool call is a line break":           {"Running it.\n|<task-done>t-1f0c9a3e</task-done>", sigils.Set{Done: true}},
		"a tool call ends a sigil cut in two":   {"<task-done>t-1f0c\n|9a3e</task-done>", sigils.Set{}},
		"a finding names a place": {
			"<finding file=\"a b.go\" line='12' severity=\"high\">\nIt leaks.\nAlways.\n</finding>\n<finding line='x'>Where?</finding>\n<finding title=' Log out '>It is not there.</finding>",
			sigils.Set{Findings: []sigils.Finding{{File: "a b.go", Line: 12, Text: "It leaks.\nAlways."}, {Text: "Where?"}, {Text: "It is not there.", Title: "Log out"}}},
		},
		"a witness is a file and a command": {
			"<witness file=\"a_test.go\" run='go test -run \"^TestA$\" .' lang=\"go\">\npackage a\n\n// `<task-done>t-1</task-done>\n\tx < y\n</witness>",
			sigils.Set{Witness: sigils.Witness{File: "a_test.go", Run: `go test -run "^TestA$" .`, Text: "package a\n\n// `<task-done>t-1</task-done>\n\tx < y"}},
		},
		"the last witness counts": {
			"<witness file='a' run='b'>x</witness>\n<witness file='a' run='c'>y</witness>", sigils.Set{Witness: sigils.Witness{File: "a", Run: "c", Text: "y"}},
		},
		"a witness without a command is none": {"<witness file='a'>x</witness>\n<witness run='b'>x</witness>\n<witness file='a' run='b'></witness>", sigils.Set{}},
		"a finding of nothing is none":        {"<finding file='a.go' line='1'></finding>\n<finding file='a.go' line='1'/>", sigils.Set{}},
		"failed counts without a reason":      {"<task-failed>t-1f0c9a3e</task-failed>", sigils.Set{Failed: true}},
		"failed takes a reason after a colon": {
			"<task-failed>t-1f0c9a3e: no network</task-failed>",
			sigils.Set{Failed: true, FailReason: "no network"},
		},
		"failed takes a reason after a space": {
			"<task-failed>t-1f0c9a3e no network</task-failed>",
			sigils.Set{Failed: true, FailReason: "no network"},
		},
		"failed takes its ID as an attribute": {
			"<task-failed id='t-1f0c9a3e'>no network: none</task-failed>",
			sigils.Set{Failed: true, FailReason: "no network: none"},
		},
		"failed takes a reason of many lines": {
			"<task-failed>t-1f0c9a3e\nno network\n\nno disk\n</task-failed>",
			sigils.Set{Failed: true, FailReason: "no network\n\nno disk"},
		},
		"the last reason counts": {
			"<task-failed>t-1f0c9a3e: a</task-failed>\n<task-failed>t-1f0c9a3e: b</task-failed>",
			sigils.Set{Failed: true, FailReason: "b"},
		},
		"done wins over an earlier failed": {
			"<task-failed>t-1f0c9a3e: a</task-failed>\n<task-done>t-1f0c9a3e</task-done>", sigils.Set{Done: true},
		},
		"done wins over a later failed": {
			"<task-done>t-1f0c9a3e</task-done>\n<task-failed>t-1f0c9a3e: a</task-failed>", sigils.Set{Done: true},
		},
		"a wrong ID is seen but does not count": {
			"<task-done>t-00000000</task-done>\n<task-failed>t-99999999: x</task-failed>",
			sigils.Set{Foreign: []sigils.Foreign{{Tag: "task-done", ID: "t-00000000"}, {Tag: "task-failed", ID: "t-99999999"}}},
		},
		"a later wrong ID does not undo ours": {
			"<task-done>t-1f0c9a3e</task-done>\n<task-done>t-00000000</task-done>",
			sigils.Set{Done: true, Foreign: []sigils.Foreign{{Tag: "task-done", ID: "t-00000000"}}},
		},
		"the last model counts":                 {"<next-model>opus</next-model>\n<next-model>a/b-1.5[1m]</next-model>", sigils.Set{NextModel: "a/b-1.5[1m]"}},
		"COMPLETE is a promise":                 {"<promise>COMPLETE</promise>", sigils.Set{Complete: true}},
		"FAILURE wins over an earlier COMPLETE": {"<promise>COMPLETE</promise>\n<promise>FAILURE</promise>", sigils.Set{Failure: true}},
		"FAILURE wins over a later COMPLETE":    {"<promise>FAILURE</promise>\n<promise>COMPLETE</promise>", sigils.Set{Failure: true}},
		"verify-pass counts":                    {"<verify-pass/>", sigils.Set{VerifyPass: true}},
		"verify-pass may have a space":          {"<verify-pass />", sigils.Set{VerifyPass: true}},
		"verify-pass may be a pair":             {"<verify-pass></verify-pass>", sigils.Set{VerifyPass: true}},
		"verify-fail wins over a later pass": {
			"<verify-fail>no test</verify-fail>\n<verify-pass/>", sigils.Set{VerifyFail: true, VerifyReason: "no test"},
		},
		"verify-fail wins over an earlier pass": {
			"<verify-pass/>\n<verify-fail>\nno test\n</verify-fail>", sigils.Set{VerifyFail: true, VerifyReason: "no test"},
		},
		"verify-fail counts without a reason": {"<verify-fail/>", sigils.Set{VerifyFail: true}},
		"fulfilled says where":                {"<verify-fulfilled>\nin a.go\n</verify-fulfilled>\n<verify-fulfilled></verify-fulfilled>", sigils.Set{Fulfilled: "in a.go"}},
		"asked names changes and a sentence": {
			"<verify-asked changes=\"1-3, 7\">Delete the greeting.</verify-asked>",
			sigils.Set{Asked: []sigils.Answer{{Changes: []sigils.Range{{From: 1, To: 3}, {From: 7, To: 7}}, Text: "Delete the greeting."}}},
		},
		"answers are kept in order, and both kinds": {
			"<verify-weakened changes='2'>\nexpects\nnothing\n</verify-weakened>\n<verify-asked changes='1' >a</verify-asked>\n<verify-asked changes='2'>b</verify-asked>",
			sigils.Set{
				Asked:    []sigils.Answer{{Changes: []sigils.Range{{From: 1, To: 1}}, Text: "a"}, {Changes: []sigils.Range{{From: 2, To: 2}}, Text: "b"}},
				Weakened: []sigils.Answer{{Changes: []sigils.Range{{From: 2, To: 2}}, Text: "expects\nnothing"}},
			},
		},
		"weakened counts without a word or a number": {"<verify-weakened/>", sigils.Set{Weakened: []sigils.Answer{{}}}},
		"asked without a sentence or a number does not": {
			"<verify-asked changes='1'></verify-asked>\n<verify-asked>a</verify-asked>\n<verify-asked changes='1'/>", sigils.Set{},
		},
		"all notes are joined":                      {"<journal>a</journal>\ntext\n<journal>\nb\n  c\n</journal>", sigils.Set{Journal: "a\n\nb\n  c"}},
		"a block may begin and end beside its tags": {"<journal>- a\n- b</journal>", sigils.Set{Journal: "- a\n- b"}},
		"knowledge has a title, tags and a body": {
			"<knowledge title=\"Build > run\" tags='just, build,,' weight=\"1\">\nRun `just test`:\n\n```sh\njust test # </knowledge>\n```\n</knowledge>",
			sigils.Set{Knowledge: []sigils.Knowledge{{
				Title: "Build > run", Tags: []string{"just", "build"},
				Body: "Run `just test`:\n\n```sh\njust test # </knowledge>\n```",
			}}},
		},
		"knowledge without a title is named by its first line": {
			"<knowledge>\n# Use just\nAlways.\n</knowledge>",
			sigils.Set{Knowledge: []sigils.Knowledge{{Title: "Use just", Body: "# Use just\nAlways."}}},
		},
		"a sigil in a closed block is its body": {
			"<journal>\n<task-done>t-1f0c9a3e</task-done>\n</journal>",
			sigils.Set{Journal: "<task-done>t-1f0c9a3e</task-done>"},
		},
		"a block in a closed block is its body": {
			"<journal>\na\n<journal>b</journal>\n<knowledge>\nc\n</knowledge>\n<task-done>t-1f0c9a3e</task-done>\n</journal>",
			sigils.Set{Journal: "a\n<journal>b</journal>\n<knowledge>\nc\n</knowledge>\n<task-done>t-1f0c9a3e</task-done>"},
		},
		"an opening never closed does not swallow a later done": {
			"<journal>\nsome notes\n\n<task-done>t-1f0c9a3e</task-done>", sigils.Set{Done: true},
		},
		"nor a later block": {"<journal>\nsome notes\n<journal>\nb\n</journal>\n<knowledge title='x'>\nc", sigils.Set{Journal: "b"}},
		"nor does a tool call hide what came before": {
			"<knowledge>\n<verify-fail>x</verify-fail>\n|</knowledge>", sigils.Set{VerifyFail: true, VerifyReason: "x"},
		},
		"a malformed block hides its body all the same": {
			"<task-failed>\n<task-done>t-1f0c9a3e</task-done>\n</task-failed>", sigils.Set{},
		},
		"a closing tag in the middle of a line closes nothing": {
			"<journal>\nwrite </journal> to end\nb\n</journal>", sigils.Set{Journal: "write </journal> to end\nb"},
		},
		"text after a closed fence counts":               {"```\nx\n```\n<task-done>t-1f0c9a3e</task-done>", sigils.Set{Done: true}},
		"a fence left open ends at a tool call":          {"```sh\nls\n|<task-done>t-1f0c9a3e</task-done>", sigils.Set{Done: true}},
		"a comment left open ends at a tool call":        {"<!-- x\n|<task-done>t-1f0c9a3e</task-done>", sigils.Set{Done: true}},
		"a fence of backticks has no backtick beside it": {"``` a ` b\n<task-done>t-1f0c9a3e</task-done>", sigils.Set{Done: true}},
		"a fence in a fence of the same length is over when both are": {
			"```md\nRun:\n```sh\nls\n```\nthen\n```\n<task-done>t-1f0c9a3e</task-done>", sigils.Set{Done: true},
		},
		"a lone backtick hides nothing":           {"The ` key\n<task-done>t-1f0c9a3e</task-done>\nworks.", sigils.Set{Done: true}},
		"a code span ends with its paragraph":     {"The ` key\n<task-done>t-1f0c9a3e</task-done>\n\nor `", sigils.Set{Done: true}},
		"an escaped backtick opens no span":       {"The \\` key\n<task-done>t-1f0c9a3e</task-done>\nor `x`", sigils.Set{Done: true}},
		"a code span closed before hides nothing": {"Ran `go\ntest` ok\n<task-done>t-1f0c9a3e</task-done>\nand `x`", sigils.Set{Done: true}},
		"a comment never closed in a line hides nothing": {
			"I wrote <!-- there\n<task-done>t-1f0c9a3e</task-done>", sigils.Set{Done: true},
		},
		"after a comment the text counts":              {"<!-- a\nb -->\n<task-done>t-1f0c9a3e</task-done>", sigils.Set{Done: true}},
		"after a list the text counts":                 {"- a\n- b\n<task-done>t-1f0c9a3e</task-done>", sigils.Set{Done: true}},
		"after a quotation the text counts":            {"> quoted\n<task-done>t-1f0c9a3e</task-done>", sigils.Set{Done: true}},
		"after a thought the text counts":              {"<think>\nso be it\n</think>\n\n<task-done>t-1f0c9a3e</task-done>", sigils.Set{Done: true}},
		"also on the line on which it ends":            {"<think>so\nbe it</think><task-done>t-1f0c9a3e</task-done>", sigils.Set{Done: true}},
		"and on that of a whole one":                   {" <Thinking>so</Thinking> <task-done>t-1f0c9a3e</task-done>", sigils.Set{Done: true}},
		"a thought left open ends at a tool call":      {"<think>I call\n|<task-done>t-1f0c9a3e</task-done>", sigils.Set{Done: true}},
		"a thought in a block is not its body":         {"<journal>\na\n<think>\nb\n</think>\nc\n</journal>", sigils.Set{Journal: "a\n\nc"}},
		"a thought closed twice hides nothing after":   {"<think>a</think></think>\n<task-done>t-1f0c9a3e</task-done>", sigils.Set{Done: true}},
		"a blank in the tag of a thought":              {"<think >\n<task-done>t-1f0c9a3e</task-done>\n</think\t>\nNot yet.", sigils.Set{}},
		"a thought in code is code":                    {"The tag `<think>`\n\n```\n<think>\n```\n\n    <think>\n\n> <think>\n\n<task-done>t-1f0c9a3e</task-done>", sigils.Set{Done: true}},
		"the end of a thought in code is code":         {"<task-done>t-1f0c9a3e</task-done>\nThe tag `</think>`\n```\n</think>\n```", sigils.Set{Done: true}},
		"a thought that only ends began with the text": {"<journal>a</journal>\n|<task-done>t-1f0c9a3e</task-done>\nNo, wait.</think>\n<journal>b</journal>", sigils.Set{Journal: "a\n\nb"}},
		"prose that begins with a quoting element hides nothing": {
			"<code> is the element.\n<task-done>t-1f0c9a3e</task-done>", sigils.Set{Done: true},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, scan(tt.text)); diff != "" {
				t.Errorf("scan(%q): (-want +got)\n%s", tt.text, diff)
			}
		})
	}
}

func TestSetLeavesTheScannerAlone(t *testing.T) {
	t.Parallel()
	const text = "<journal>a</journal>\n<knowledge>\nx\n</knowledge>\n<journal>b\n\nc</journal>\n<task-done>t-1f0c9a3e</task-done>"
	s := sigils.NewScanner(ours)
	var early []sigils.Set
	for i := range len(text) {
		s.Write(text[i : i+1])
		early = append(early, s.Set())
	}
	for i, got := range early {
		if diff := cmp.Diff(sigils.Parse(text[:i+1], ours), got); diff != "" {
			t.Fatalf("after %q: (-want +got)\n%s", text[:i+1], diff)
		}
	}
}

func TestNoTaskMatchesNoID(t *testing.T) {
	t.Parallel()
	got := sigils.Parse("<task-done></task-done>\n<task-failed></task-failed>\n<task-done>t-1</task-done>", "")
	want := sigils.Set{Foreign: []sigils.Foreign{{Tag: "task-done", ID: "t-1"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestInert(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ text, want string }{
		"nothing":                   {"", ""},
		"other tags stay":           {"if a <b> c </b> && x<y", "if a <b> c </b> && x<y"},
		"longer names stay":         {"<knowledge-base> <journals>", "<knowledge-base> <journals>"},
		"both tags lose a bracket":  {"<task-done>t-1</task-done>", "‹task-done>t-1‹/task-done>"},
		"empty ones too":            {"a <verify-pass/> b", "a ‹verify-pass/> b"},
		"near misses too":           {"<TASK_DONE> < promise> </ journal", "‹TASK_DONE> ‹ promise> ‹/ journal"},
		"the name alone is no tag":  {"task-done, promise", "task-done, promise"},
		"an unfinished one too":     {"<journal", "‹journal"},
		"attributes make no escape": {"<knowledge title=\"x\">", "‹knowledge title=\"x\">"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := sigils.Inert(tt.text); got != tt.want {
				t.Errorf("Inert(%q): got %q, want %q", tt.text, got, tt.want)
			}
		})
	}
}
