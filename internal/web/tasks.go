package web

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"ralph/dag"
	"ralph/internal/seq"
)

// taskRows is how many tasks a page lists.
const taskRows = 200

// tasksPage is a part of the list of tasks.
type tasksPage struct {
	Query          url.Values
	Rows           []taskRow
	Total, From    int // of those that were found; Total is -1 if nobody counted
	Next, Previous string
	Statuses       []choice
	Features       []string
	Tags           []string
	New            newTask
}

// Last is the number of the last task of the page.
func (p tasksPage) Last() int { return p.From + len(p.Rows) }

type taskRow struct {
	dag.Task
	State string
	Depth int
}

// choice is a filter, how many it finds, and where it leads.
type choice struct {
	Name, URL string
	N         int
	On        bool
}

var errEnough = errors.New("enough")

func loadTasks(v *visit) (any, error) {
	q := v.URL.Query()
	p := tasksPage{Query: q}
	tally, err := v.g.Tasks.Tally(dag.Scope{Feature: q.Get("feature")})
	if err != nil {
		return nil, err
	}
	features, err := v.g.Plan.Features()
	if err != nil {
		return nil, err
	}
	p.Features = seq.Map(features, func(f dag.Feature) string { return f.Name })
	p.New.Features = p.Features
	p.choices(tally)

	filter := dag.Filter{Feature: q.Get("feature"), Tag: q.Get("tag")}
	status, words := q.Get("status"), strings.Fields(strings.ToLower(q.Get("q")))
	switch status {
	case "", "asks":
		if len(words) == 0 {
			filter.Statuses = []dag.Status{dag.Pending, dag.InProgress, dag.Failed, dag.Blocked}
		}
	case "ready":
		filter.Ready = true
	case "all":
	default:
		filter.Statuses = []dag.Status{dag.Status(status)}
	}
	page, _ := strconv.Atoi(q.Get("page")) // none is the first
	p.From = min(max(page, 0), 1<<20) * taskRows
	tree := q.Get("tree") != ""
	var all []dag.Task
	err = v.g.Tasks.Each(filter, func(t dag.Task) error {
		if status == "asks" && t.Asks == 0 || !found(t, words) {
			return nil
		}
		if p.Total++; tree || p.Total > p.From && len(all) < taskRows {
			all = append(all, t)
		} else if len(all) == taskRows && len(words) == 0 && filter.Tag == "" && status != "asks" {
			return errEnough // the counts say how many there are
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return nil, err
	}
	if errors.Is(err, errEnough) {
		for _, c := range p.Statuses {
			if c.On {
				p.Total = c.N
			}
		}
	}
	depth := map[string]int{}
	if tree {
		all = asTree(all, depth)
		all = all[min(p.From, len(all)):min(p.From+taskRows, len(all))]
	}
	for _, t := range all {
		p.Rows = append(p.Rows, taskRow{t, t.State(v.now), min(depth[t.ID], 6)})
		for _, tag := range t.Tags {
			if !slices.Contains(p.Tags, tag) && len(p.Tags) < 30 {
				p.Tags = append(p.Tags, tag)
			}
		}
	}
	if p.From > 0 {
		p.Previous = p.with("page", fmt.Sprint(p.From/taskRows-1))
	}
	if p.From+len(p.Rows) < p.Total {
		p.Next = p.with("page", fmt.Sprint(p.From/taskRows+1))
	}
	return p, nil
}

// found says that each word is somewhere in a task.
func found(t dag.Task, words []string) bool {
	for _, w := range words {
		if !strings.Contains(strings.ToLower(t.ID), w) && !strings.Contains(strings.ToLower(t.Title), w) && !strings.Contains(strings.ToLower(t.Description), w) {
			return false
		}
	}
	return true
}

// asTree puts tasks below their parents, as far as these are in the list.
func asTree(all []dag.Task, depth map[string]int) []dag.Task {
	below, in := map[string][]dag.Task{}, seq.Set(all, func(t dag.Task) string { return t.ID })
	for _, t := range all {
		parent := t.Parent
		if !in[parent] {
			parent = ""
		}
		below[parent] = append(below[parent], t)
	}
	list := make([]dag.Task, 0, len(all))
	var add func(parent string, deep int)
	add = func(parent string, deep int) {
		for _, t := range below[parent] {
			depth[t.ID], list = deep, append(list, t)
			add(t.ID, deep+1)
		}
	}
	add("", 0)
	return list
}

// choices are the states that can be asked for.
func (p *tasksPage) choices(t dag.Tally) {
	by := func(s dag.Status) int { return t.ByStatus[s] + t.Groups[s] }
	open := by(dag.Pending) + by(dag.InProgress) + by(dag.Failed) + by(dag.Blocked)
	for _, c := range []choice{
		{Name: "", N: open},
		{Name: "ready", N: t.Ready},
		{Name: string(dag.InProgress), N: by(dag.InProgress)},
		{Name: "asks", N: t.Asks},
		{Name: string(dag.Failed), N: by(dag.Failed)},
		{Name: string(dag.Blocked), N: by(dag.Blocked)},
		{Name: string(dag.Pending), N: by(dag.Pending)},
		{Name: string(dag.Done), N: by(dag.Done)},
		{Name: string(dag.Cancelled), N: by(dag.Cancelled)},
		{Name: "all", N: t.Total() + t.TotalGroups()},
	} {
		c.On = p.Query.Get("status") == c.Name
		if c.N > 0 || c.On || c.Name == "" || c.Name == "all" {
			c.URL = p.with("status", c.Name)
			p.Statuses = append(p.Statuses, c)
		}
	}
}

// with is the address of the list with something else.
func (p tasksPage) with(key, value string) string {
	q := url.Values{}
	for _, k := range []string{"q", "status", "feature", "tag", "tree"} {
		if p.Query.Get(k) != "" {
			q.Set(k, p.Query.Get(k))
		}
	}
	if q.Set(key, value); value == "" {
		q.Del(key)
	}
	return "/tasks?" + q.Encode()
}

// Tree is where the list is a tree, or flat again.
func (p tasksPage) Tree() string {
	if p.Query.Get("tree") != "" {
		return p.with("tree", "")
	}
	return p.with("tree", "1")
}
