package verify

import (
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"ralph/internal/lazyregexp"
	"ralph/sigils"
)

// AskTask has the task's own words answer for the doubt, where no verifier does. Asked quotes them if they ask for each change of
// it, by the path of the file.
func (d *Doubt) AskTask(task []string) {
	var said sigils.Set
	for _, c := range d.Changes() {
		said.Asked = append(said.Asked, sigils.Answer{Changes: []sigils.Range{{From: c.N, To: c.N}}, Text: wish(c, task)})
	}
	d.Asked = ""
	if problem, _ := d.clear(said, task); problem == "" && len(said.Asked) > 0 {
		d.Asked = askedFor(said.Asked)
	}
}

// wish is the sentence of a task that asks for a change, or "". It overlooks many, which a verifier or a person finds: one
// that is misread would let a lie through.
func wish(c Hunk, task []string) (found string) {
	file, deleted := strings.CutPrefix(c.Text, "test file deleted: ") // a finding, which has no file
	if !deleted {
		file, deleted = c.File, strings.HasPrefix(c.Text, "deleted file mode ")
	}
	if file == "" || !deleted && !strings.HasPrefix(c.Text, "@@") { // what is new, or is not the text of a file, is not looked for
		return ""
	}
	for _, text := range task {
		for _, sentence := range sentences(text) {
			words := strings.Fields(sentence)
			spoken := slices.ContainsFunc(words, func(w string) bool { return bare(w) == file || bare(w) == path.Base(file) })
			switch restricts := limits.Get().MatchString(sentence); {
			case restricts && (spoken || strings.HasSuffix(sentence, ":") || strings.HasPrefix(sentence, "#") || checks.Get().MatchString(sentence)):
				return "" // whatever else it says
			case !restricts && found == "" && asks(words, file, deleted, func() bool { return adds(c.Text, task) }):
				found = strings.Join(words, " ")
			}
		}
	}
	return found
}

var (
	// limits is how a sentence forbids, sets a condition, or wants tests to pass, or more of them.
	limits = lazyregexp.New(`(?i)\b(?:not|never|no|none|nobody|nothing|neither|nor|cannot|without|instead|except|avoid|refuse|forbid\w*|leave|keep|` +
		`stays?|unless|if|whether|when|rather|only|untouched|unchanged|pass(?:es|ing)?|fail\w*|green|red|cover\w*|more|another|additional|extra|further|to (?:also )?(?:test|check|assert|verify))\b|n['’]t\b|\?`)
	checks = lazyregexp.New(`(?i)\b(?:tests?|checks?|assert\w*|expect\w*)\b`)
	fenced = lazyregexp.New("(?s)```.*?(?:```|$)|~~~.*?(?:~~~|$)") // is code
	ends   = lazyregexp.New("[.!?][\"'`)*_]*\\s+|\n\\s*\n|:[*_]*\\s*\n|\n\\s*(?:[-*•#]|\\d+[.)])")
)

// sentences splits a text. A heading is one, and so is each line of a list.
func sentences(text string) (list []string) {
	text = fenced.Get().ReplaceAllString(text, "\n\n")
	begin := 0
	for _, at := range ends.Get().FindAllStringIndex(text, -1) {
		end := at[0] + 1
		if next, _ := utf8.DecodeRuneInString(text[at[1]:]); strings.IndexByte(".!?", text[at[0]]) >= 0 && unicode.IsLower(next) {
			continue // an abbreviation
		}
		list, begin = append(list, strings.TrimSpace(text[begin:end])), end
	}
	return append(list, strings.TrimSpace(text[begin:]))
}

// Words by what they say of those beside them.
var (
	changing = strings.Fields("change update convert edit adapt adjust rewrite replace modify raise lower")
	deleting = strings.Fields("delete remove drop")
	adding   = strings.Fields("add list")
	// telling are other words with which a sentence begins that tells somebody to do something.
	telling  = strings.Fields("put make use let write print return render round give allow accept support implement create introduce move rename please then also now")
	joining  = strings.Fields("and then also please &")
	articles = strings.Fields("the a an its their both all file files")
	closing  = strings.Fields("accordingly from to so by with too and then where as for")
	// turning are those after which a name is not that of what is to change.
	turning = strings.Fields("that which who what is are be to so as by with until for because from into per like via using against on at than after before " +
		"following given found seen shown written and or but error errors bug bugs broken flaky warning warnings problem problems crash crashes")
)

// is says that a word is one of a list.
func is(word string, list []string) bool { return slices.Contains(list, strings.ToLower(word)) }

// asks says that words tell somebody to change a file, or what is in it: "change the limit in lint.sh", "delete it and lint.sh".
// "Change slug as lint.sh says" does not. To add something to it counts if that is all that was added.
func asks(words []string, file string, deleted bool, added func() bool) bool {
	for i, w := range words {
		change, remove, add := is(w, changing), is(w, deleting), is(w, adding)
		if !change && !remove && !add || !begins(words[:i]) {
			continue
		}
		object := words[i+1:]
		if (change && !deleted || remove && deleted) && listed(object, file) {
			return true
		}
		within := func(preposition string) bool { return inside(object, file, preposition) }
		if !deleted && (change && within("in") || remove && (within("in") || within("from")) || add && (within("in") || within("to")) && added()) {
			return true
		}
	}
	return false
}

// begins says that a verb after these words is an imperative.
func begins(before []string) bool {
	for len(before) > 0 && strings.Trim(before[0], "-*•0123456789.)") == "" { // a line of a list
		before = before[1:]
	}
	if len(before) == 0 {
		return true
	}
	first, last := before[0], before[len(before)-1]
	tells := is(first, changing) || is(first, deleting) || is(first, adding) || is(first, telling)
	return strings.HasSuffix(last, ";") || tells && (is(last, joining) || strings.HasSuffix(last, ","))
}

// listed says that a file is an object of a verb: the first, or in a list with an "and" before its last.
func listed(object []string, file string) bool {
	found, joined := false, true
	for i := 0; i < len(object); i++ {
		if is(object[i], articles) {
			continue
		}
		found = found || bare(object[i]) == file
		if found && joined && ended(object, i) {
			return true
		}
		comma := strings.HasSuffix(object[i], ",")
		if joined = i+1 < len(object) && object[i+1] == "and"; joined {
			i++
		} else if !comma {
			return false
		}
	}
	return false
}

// inside says that a verb is about something in a file.
func inside(object []string, file, preposition string) bool {
	const most = 6 // words
	for i, w := range object[:max(0, min(len(object)-1, most))] {
		switch {
		case w == preposition && i > 0:
			return bare(object[i+1]) == file && !strings.HasSuffix(object[i-1], "ed") && ended(object, i+1) // not "what is tested in it"
		case is(w, turning), strings.ContainsAny(w[len(w)-1:], ".,;:)"):
			return false
		}
	}
	return false
}

// ended says that a name is not the subject of what follows it.
func ended(words []string, i int) bool {
	return i+1 == len(words) || strings.ContainsAny(words[i][len(words[i])-1:], ".,;:)!") || is(bare(words[i+1]), closing)
}

// bare is a word without what stands around it.
func bare(word string) string {
	return strings.TrimPrefix(strings.TrimRight(strings.TrimLeft(word, "`\"'*("), "`\"'*).,;:!?"), "./")
}

// adds says that a hunk only adds lines, and that each is a word of the task.
func adds(hunk string, task []string) bool {
	words := strings.Fields(strings.Join(task, " "))
	for line := range strings.Lines(hunk) {
		text, added := strings.CutPrefix(line, "+")
		if strings.HasPrefix(line, "-") || added && !slices.ContainsFunc(words, func(w string) bool { return bare(w) == strings.TrimSpace(text) }) {
			return false
		}
	}
	return true
}
