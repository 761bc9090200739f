package prompt

import (
	"cmp"
	"embed"
	"fmt"
	"strings"
	"sync"
	"text/template"

	"ralph/internal/plain"
	"ralph/sigils"
)

const (
	maxTitle   = 300 // bytes of a title or command
	maxFrom    = 120 // bytes of a source's name
	maxName    = 80  // bytes of the name of a file or model
	maxNames   = 12
	maxSummary = 2000 // bytes of a prerequisite's summary, of a gate's output

	// minShare is what each quotation gets before weights count: space for the
	// notice that it was cut, and some text.
	minShare = 400

	// firstShare is the percentage of a prompt that what comes first may take, without what
	// the longest words of ours and the least of all other quotations need.
	firstShare = 60
	reserved   = 13_000 // bytes

	bytesPerToken = 4
)

//go:embed templates/*.tmpl templates/sections/*.md
var templateFiles embed.FS

// view is what the templates see. Foreign text reaches them as quotes or through
// page.inline only.
type view struct {
	ID, Title, Name      string
	Result, Effort       string
	Instructions, Models string
	MayChange            string
	Interrupted, Tools   bool
	Uncommitted          bool
	Unchanged, Cosmetic  bool
	Split                bool
	Retry                *Retry

	Description, Parent, Prerequisites, Spec, Plan, Reason, Guidance *quote
	GitState, Previous, Journal, Knowledge, Skills, Conflict         *quote
	SpecSections, PlanSections, TaskKnowledge, Outputs, Printed      *quote
	Related, Criteria, Files, Resolved, Unexecuted, Refs             *quote
	Diff, Gates, Output, Failed, Changes, Answers, Messages          *quote
}

// page makes one prompt: it collects the quotations and shares the budget.
type page struct {
	budget   int
	worker   bool
	sections *Sections
	longer   int // bytes that a project's own words take more than ralph's
	quotes   []*quote
}

// quote takes foreign text into the page. Text without a visible character gives
// nil, which templates take for absent. The weight is its percentage of the space for
// quotations, less if there are more than a hundred together; what others leave goes to the earliest ones.
func (p *page) quote(d Document, weight int) *quote {
	text := strings.Trim(p.safe(d.Text), "\n")
	if strings.TrimSpace(text) == "" {
		return nil
	}
	q := &quote{text: text, From: cmp.Or(p.inline(d.From, maxFrom), "ralph's records"), weight: weight}
	p.quotes = append(p.quotes, q)
	return q
}

// quoteParts quotes a list. A cut spares the beginning of each part.
func (p *page) quoteParts(parts []string, from string, weight int) *quote {
	for i := range parts {
		parts[i] = strings.Trim(p.safe(parts[i]), "\n")
	}
	q := p.quote(Document{strings.Join(parts, "\n"), from}, weight)
	if q != nil {
		q.parts = parts
	}
	return q
}

// quoteFirst takes in what is the same for every task of a feature. What is shown of it
// depends on nothing else, so that all these prompts begin alike.
func (p *page) quoteFirst(spec, plan, knowledge Document) (_, _, _ *quote) {
	what, how, known := p.quote(spec, 55), p.quote(plan, 35), p.quote(knowledge, 10)
	p.share((p.limit() - reserved - p.longer) * firstShare / 100)
	p.quotes = nil
	return what, how, known
}

// quoteOr quotes the only foreign text of a page, or else a sentence of ours.
func (p *page) quoteOr(text, otherwise, from string) *quote {
	if strings.TrimSpace(p.safe(text)) == "" {
		text = otherwise
	}
	return p.quote(Document{text, from}, 100)
}

// inline makes foreign text fit to stand in a line of ours.
func (p *page) inline(text string, limit int) string {
	return plain.Cut(plain.OneLine(p.safe(plain.Head(text, bytesPerToken*limit))), limit)
}

// names renders a list of names as code.
func (p *page) names(names []string) string {
	var out []string
	for _, name := range names {
		if name = p.inlineCode(name, maxName); name != "" && len(out) < maxNames {
			out = append(out, "`"+name+"`")
		}
	}
	return strings.Join(out, ", ")
}

// safe takes out of foreign text what is not text. The order matters: removing a
// character may complete a sigil, so sigils come last.
func (p *page) safe(text string) string {
	text = sigils.Inert(clean(text))
	if p.worker {
		text = breakVerdicts(text)
	}
	return text
}

// render shares what our own words leave of the budget and fills the template.
// Rendering with empty quotations first makes the measure exact.
func (p *page) render(name string, v any) string {
	p.share(p.limit() - len(p.execute(name, v)))
	return p.execute(name, v)
}

// Room is how many bytes can be added to a prompt of the default size.
func Room(text string) int { return max((&page{}).limit()-len(text), 0) }

// limit is the size of the whole prompt in bytes.
func (p *page) limit() int { return bytesPerToken * max(cmp.Or(p.budget, DefaultBudget), MinBudget) }

func (p *page) share(limit int) {
	share, all := make(map[*quote]int, len(p.quotes)), 0
	for _, q := range p.quotes {
		share[q] = min(q.size(), minShare)
		limit -= share[q]
		all += q.weight
	}
	left := limit
	for _, q := range p.quotes {
		more := max(0, min(q.size()-share[q], limit*q.weight/max(100, all)))
		share[q] += more
		left -= more
	}
	for _, q := range p.quotes {
		more := max(0, min(q.size()-share[q], left))
		share[q] += more
		left -= more
		q.fit(share[q])
	}
}

// builtin are the sections that can be replaced.
var builtin = sync.OnceValue(readSections)

// templates are parsed once, and only by commands that prompt an agent.
var templates = sync.OnceValue(func() *template.Template {
	t := template.Must(template.ParseFS(templateFiles, "templates/*.tmpl"))
	for name, text := range builtin() {
		template.Must(t.New(name).Parse(strings.TrimSuffix(text, "\n")))
	}
	return t
})

func (p *page) execute(name string, v any) string {
	var b strings.Builder
	if err := p.sections.set().ExecuteTemplate(&b, name, v); err != nil {
		panic(fmt.Sprintf("prompt: %v", err)) // the template is part of the program, or was checked
	}
	return b.String()
}
