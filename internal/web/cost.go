package web

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"ralph/internal/event"
	"ralph/internal/human"
	"ralph/internal/render"
	"ralph/internal/report"
)

// costPage is what was spent, and what came of it.
type costPage struct {
	By       string // heading of the first table
	Headings []string
	Costs    report.Costs
	Rows     []costRow
	More     int // rows that are not shown
	Days     []dayBar
	Stats    report.Stats
	Outcomes string
	Forecast string // what the command says; "" unless it was asked for
}

type costRow struct {
	report.Spending
	Each  string
	Share int // of the dearest, of 100
}

// dayBar is what a day cost, in a picture of 1,000 by 100.
type dayBar struct {
	X, Y, W, H  int
	Day, Amount string
}

const (
	costRows = 50
	costDays = 30
)

func loadCost(v *visit) (any, error) {
	p := costPage{Headings: []string{report.ByModel, report.ByFeature, report.ByAgent, report.ByDay, report.ByTask}}
	if p.By = v.URL.Query().Get("by"); !slices.Contains(p.Headings, p.By) {
		p.By = report.ByModel
	}
	var err error
	if p.Costs, err = report.LoadCosts(v.g, p.By, ""); err != nil {
		return nil, err
	}
	days, err := report.LoadCosts(v.g, report.ByDay, "")
	if err != nil {
		return nil, err
	}
	byDay := func(a, b report.Spending) int { return cmp.Compare(b.Key, a.Key) }
	slices.SortFunc(days.Rows, byDay)
	if p.By == report.ByDay {
		slices.SortFunc(p.Costs.Rows, byDay)
	}
	p.Days = dayBars(days.Rows)
	p.More = max(len(p.Costs.Rows)-costRows, 0)
	dearest := dearestOf(p.Costs.Rows)
	for _, s := range p.Costs.Rows[:min(len(p.Costs.Rows), costRows)] {
		row := costRow{Spending: s, Each: "–"}
		if each := s.PerVerified(); each != nil {
			row.Each = human.Dollars(*each)
		}
		if dearest > 0 {
			row.Share = int(100 * s.Usage.Cost() / dearest)
		}
		p.Rows = append(p.Rows, row)
	}
	receipts, err := report.Receipts(v.g, "")
	if err != nil {
		return nil, err
	}
	p.Stats = report.StatsOf(receipts)
	var outcomes []string
	for _, o := range event.AttemptOutcomes() {
		if n := p.Stats.Outcomes[o]; n > 0 {
			outcomes = append(outcomes, fmt.Sprintf("%d %s", n, render.OutcomeWord(o)))
		}
	}
	p.Outcomes = strings.Join(outcomes, ", ")
	return p, nil
}

// finish asks for the forecast. A page that looks again has it: it changes little, and takes long.
func (p costPage) finish(v *visit) any {
	if v.URL.Query().Get("forecast") != "" && v.Header.Get("Ralph-State") == "" {
		var out, said bytes.Buffer
		v.opts.Command(v.Context(), Call{Args: []string{"forecast"}, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &said, Who: sessionOf(v.Context()).who, Via: "web"})
		p.Forecast = strings.TrimSpace(out.String() + said.String())
	}
	return p
}

func dearestOf(rows []report.Spending) (dearest float64) {
	for _, s := range rows {
		dearest = max(dearest, s.Usage.Cost())
	}
	return dearest
}

// dayBars draws the last days, the newest at the right; rows are the newest first.
func dayBars(rows []report.Spending) []dayBar {
	rows = slices.Clone(rows[:min(len(rows), costDays)])
	slices.Reverse(rows)
	dearest := dearestOf(rows)
	if dearest == 0 {
		return nil
	}
	width := min(1000/len(rows), 60)
	var bars []dayBar
	for i, s := range rows {
		h := max(int(96*s.Usage.Cost()/dearest), 1)
		bars = append(bars, dayBar{i * width, 100 - h, width - max(width/6, 2), h, s.Key, s.Usage.CostWords()})
	}
	return bars
}
