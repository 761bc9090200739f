package prompt

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"ralph/internal/human"
	"ralph/internal/lazyregexp"
	"ralph/internal/plain"
)

// Changed is one file that work changed.
type Changed struct {
	Path, Old      string // Old if it was renamed.
	Kind           string // Such as "added"; empty for a modified one.
	Added, Removed int    // Lines.
	Size           string // Of a file that is not text, in words.
	Patch          string
	Cut            bool // There is more of the patch.
}

// Difference is what work changed.
type Difference struct {
	Files      []Changed
	Base, Work string // Git shows with these what is cut.
}

// String is the file as a line of the list.
func (c Changed) String() string {
	size := fmt.Sprintf("+%d -%d", c.Added, c.Removed)
	if c.Size != "" {
		size = c.Size
	}
	what := strings.Join(human.Parts(c.Kind, human.Lead("before ", plain.OneLine(c.Old)), size), ", ")
	return fmt.Sprintf("%s: %s: %s\n", rankOf(c.Path), plain.OneLine(c.Path), what)
}

// rank is in which order files are shown.
type rank int

const (
	isCode rank = iota // also the settings of tools: one line of them can switch a check off
	isText
	isData
	ranks
)

func (r rank) String() string { return [ranks]string{"code", "text", "data"}[r] }

var (
	codeFile = lazyregexp.New(`(?i)(?:\.(?:go|py|pyi|pyx|[cm]?[jt]sx?|vue|svelte|astro|rs|c|h|cc|cpp|cxx|hpp|hh|m|mm|cs|fs|vb|java|kt|kts|scala|groovy|gradle|rb|erb|php|pl|pm|t|lua|` +
		`r|jl|ex|exs|erl|hrl|hs|ml|mli|clj|cljs|edn|lisp|el|swift|dart|zig|nim|v|sv|vhd|asm|s|sh|bash|zsh|fish|ps1|bat|cmd|awk|sed|sql|proto|graphql|tf|hcl|nix|cmake|mk|mod|` +
		`toml|ini|cfg|conf|properties|yml|yaml|html|htm|css|scss|less|tmpl|tpl|jinja2?|ipynb)|` +
		`(?:^|/)(?:(?:GNU)?makefile|justfile|dockerfile|containerfile|rakefile|gemfile|procfile|jenkinsfile|vagrantfile|build|workspace|configure|setup\.cfg|package\.json|` +
		`[^/]*(?:tsconfig|jsconfig|composer|deno|biome|nx|turbo|lerna|babel|eslint|prettier|jest|mocha|nyc|c8|stryker)[^/]*\.jsonc?|\.[a-z]+rc|\.[a-z]+rc\.json|\.[a-z-]*ignore|\.gitattributes|\.gitmodules|\.env[^/]*))$`)
	dataFile = lazyregexp.New(`(?i)(?:\.(?:jsonc?|json5|jsonl|ndjson|geojson|csv|tsv|xml|svg|po|pot|mo|snap|golden|approved|lock|sum|map|log|out|diff|patch|parquet|pb|bin|dat|min\.js|min\.css)|` +
		`(?:_pb2(?:_grpc)?\.pyi?|\.pb(?:\.gw)?\.go|_generated\.\w+|\.g\.dart|\.designer\.cs)|` +
		`(?:^|/)(?:[^/]*-lock\.(?:json|ya?ml)|go\.sum|npm-shrinkwrap\.json))$|` +
		`(?:^|/)(?:__snapshots__|__fixtures__|testdata|fixtures?|golden|goldens|cassettes|snapshots|vendor|node_modules|third_party|dist)/`)
)

// rankOf goes by the name alone: what the work sets in .gitattributes does not count. A name that is not known is taken for text.
func rankOf(file string) rank {
	settings := codeFile.Get().MatchString(path.Base(file)) && strings.HasSuffix(file, ".json")
	switch {
	case dataFile.Get().MatchString(file) && !settings:
		return isData
	case codeFile.Get().MatchString(file):
		return isCode
	}
	return isText
}

// command shows all of files.
func (d Difference) command(files ...string) string {
	if d.Base == "" || d.Work == "" {
		return ""
	}
	words := []string{"git", "diff", shortID(d.Base), shortID(d.Work), "--"}
	for _, file := range files {
		if strings.HasPrefix(file, ":") { // which means more to git
			file = "./" + file
		}
		if file != "" {
			words = append(words, shellWord(file))
		}
	}
	return strings.TrimSuffix(strings.Join(words, " "), " --")
}

// shortID is long enough to be the only one, and short enough for a line.
func shortID(id string) string { return fmt.Sprintf("%.16s", cleanID(id)) }

var plainWord = lazyregexp.New(`^[\w./@%+=:,-]+$`)

func shellWord(text string) string {
	if plainWord.Get().MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// from names where all of it can be read.
func (d Difference) from(options string) string {
	if whole := d.command(); whole != "" {
		return "`" + strings.Replace(whole, "git diff", "git diff"+options, 1) + "`"
	}
	return "the difference since the task began"
}

// quoteChanges quotes the list of files and, after that, what changed in them. The second takes what others leave first.
func (p *page) quoteChanges(d Difference, listWeight, weight int) (list, changes *quote) {
	files := slices.Clone(d.Files)
	slices.SortStableFunc(files, func(x, y Changed) int { return int(rankOf(x.Path)) - int(rankOf(y.Path)) })
	var parts []changedPart
	var whole []string
	for _, c := range files {
		part := changedPart{rank: rankOf(c.Path), path: p.inline(c.Path, maxPath), text: strings.Trim(p.safe(c.Patch), "\n"), command: p.inline(d.command(c.Old, c.Path), maxPath)}
		if c.Cut {
			part.text = strings.TrimLeft(part.text+"\n"+part.notice(maxPath), "\n")
		}
		if strings.TrimSpace(part.text) != "" {
			parts, whole = append(parts, part), append(whole, part.text)
		}
	}
	list = p.quote(Document{listOf(files), d.from(" --stat")}, listWeight)
	if changes = p.quote(Document{strings.Join(whole, "\n"), d.from("")}, weight); changes != nil {
		changes.changed = parts
	}
	return list, changes
}

// maxList is how many bytes of the list name single files. It must not take the space of what changed in them.
const maxList = 16 << 10

// listOf names files, and beyond what fits folders.
func listOf(files []Changed) string {
	var b strings.Builder
	n := 0
	for ; n < len(files) && b.Len() < maxList; n++ {
		b.WriteString(files[n].String())
	}
	type folder struct {
		rank rank
		path string
	}
	var order []folder
	sums, count := map[folder]Changed{}, map[folder]int{}
	for _, c := range files[n:] {
		at := folder{rankOf(c.Path), path.Dir(plain.OneLine(c.Path))}
		if count[at]++; count[at] == 1 {
			order = append(order, at)
		}
		sum := sums[at]
		sum.Added, sum.Removed = sum.Added+c.Added, sum.Removed+c.Removed
		sums[at] = sum
	}
	for _, at := range order {
		fmt.Fprintf(&b, "%s: %s in %s/: +%d -%d\n", at.rank, human.Count(count[at], "file"), at.path, sums[at].Added, sums[at].Removed)
	}
	return b.String()
}

// changedPart is what is shown of one file.
type changedPart struct {
	rank    rank
	path    string
	text    string
	command string
}

// notice says where the rest is, as far as there is room for that.
func (c changedPart) notice(limit int) string {
	if long := "[cut: " + c.command + "]"; c.command != "" && 3*len(long) <= limit {
		return long
	}
	return "[cut]"
}

// cost is what a text takes once it is quoted.
func cost(text string) int { return len(quoted(text)) + 1 }

const (
	leastSlice = 80  // bytes of a file that are worth a line
	fairSlice  = 300 // bytes of each file of code before data gets something
)

// byFile shows code before data and of each file as much as of the others, in at most limit bytes.
func (q *quote) byFile(limit int) string {
	notice := func(whole int) string {
		return fmt.Sprintf("\n\n[cut: %s of %s files are shown whole; all of it: %s]", human.Thousands(int64(whole)), human.Thousands(int64(len(q.changed))), q.From)
	}
	left, whole := limit-len(notice(len(q.changed))), 0
	var shown []string
	for r := range ranks {
		var parts []changedPart
		var costs []int
		later := 0
		for _, part := range q.changed {
			switch {
			case part.rank == r:
				parts, costs = append(parts, part), append(costs, cost(part.text))
			case part.rank > r:
				later += cost(part.text)
			}
		}
		room := left
		if reserve := min(later, left/8); left-reserve >= fairSlice*len(parts) {
			room -= reserve
		}
		most := max(fairShare(costs, room), leastSlice)
		for i, part := range parts {
			text := part.text
			if costs[i] > most {
				text = part.cut(most)
			}
			if text == "" || cost(text) > room {
				continue
			}
			if len(text) == len(part.text) {
				whole++
			}
			room, left = room-cost(text), left-cost(text)
			shown = append(shown, text)
		}
	}
	return quoted(strings.Join(shown, "\n")) + notice(whole)
}

// fairShare is to what length the longest have to be cut.
func fairShare(sizes []int, limit int) int {
	most := limit
	for i, size := range slices.Sorted(slices.Values(sizes)) {
		if most = limit / (len(sizes) - i); size > most {
			break
		}
		limit -= size
	}
	return most
}

// cut leaves out what did not change, and then shows the beginning of each hunk.
func (c changedPart) cut(limit int) string {
	head, hunks := c.changedLines()
	notice := c.notice(limit)
	room := limit - cost(head) - cost(notice)
	var costs []int
	for _, hunk := range hunks {
		costs = append(costs, cost(hunk))
	}
	shown, most := []string{head}, max(fairShare(costs, room), leastSlice/2)
	for i, hunk := range hunks {
		if costs[i] > most {
			hunk = firstLines(hunk, most-1)
		}
		if hunk != "" && cost(hunk) <= room {
			shown, room = append(shown, hunk), room-cost(hunk)
		}
	}
	text := strings.Join(append(shown, notice), "\n")
	if room < 0 || cost(text) > limit {
		return firstLines(text, limit-1)
	}
	return text
}

// changedLines are those of a patch, by hunk, and what is said of the whole file, in few words.
func (c changedPart) changedLines() (head string, hunks []string) {
	about, lines := []string{c.path + ":"}, [][]string(nil)
	for line := range strings.SplitSeq(c.text, "\n") {
		switch {
		case strings.HasPrefix(line, "@@"):
			_, line, _ = strings.Cut(line, " +")
			lines = append(lines, []string{"@@ +" + line[:max(strings.IndexAny(line, ", "), 0)]})
		case len(lines) > 0:
			if line != "" && strings.ContainsRune(`+-\`, rune(line[0])) {
				lines[len(lines)-1] = append(lines[len(lines)-1], line)
			}
		case !slices.ContainsFunc([]string{"diff --git ", "index ", "--- ", "+++ ", "[cut"}, func(prefix string) bool { return strings.HasPrefix(line, prefix) }):
			about = append(about, line)
		}
	}
	for _, hunk := range lines {
		hunks = append(hunks, strings.Join(hunk, "\n"))
	}
	return strings.Join(about, "\n"), hunks
}
