package forge

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// glab is GitLab's program. Its other verbs print for people, or differ between versions; "glab api" answers what GitLab answers.
type glab struct{ program }

func (f glab) api(ctx context.Context, repository, endpoint, input string, args ...string) ([]byte, error) {
	project := ":fullpath"
	if path := cmp.Or(repository, f.Home.Path); path != "" {
		project = url.PathEscape(path)
	}
	args = append([]string{"api", "projects/" + project + "/" + endpoint}, args...)
	if f.Home.Host != "" {
		args = append(args, "--hostname", f.Home.Host)
	}
	return f.run(ctx, []string{"NO_PROMPT=1", "GLAB_CHECK_UPDATE=false", "NO_COLOR=1"}, input, args...)
}

type mergeRequest struct {
	Number   int    `json:"iid"`
	URL      string `json:"web_url"`
	Target   string `json:"target_branch"`
	Body     string `json:"description"`
	Commit   string `json:"sha"`
	Source   int    `json:"source_project_id"`
	Project  int    `json:"project_id"`
	Pipeline *struct {
		ID       int64
		SHA, Ref string
		Status   string
	} `json:"head_pipeline"`
}

func (m mergeRequest) pull() Pull { return Pull{m.Number, m.URL, m.Target, m.Body} }

func (f glab) Find(ctx context.Context, branch string) (Pull, error) {
	out, err := f.api(ctx, "", "merge_requests?state=opened&per_page=20&source_branch="+url.QueryEscape(branch), "")
	if err != nil {
		return Pull{}, err
	}
	list, err := pages[mergeRequest](f.program, out, "api", "merge_requests")
	for _, m := range list {
		if m.Source == m.Project { // and not a fork's branch of the same name
			return m.pull(), err
		}
	}
	return Pull{}, err
}

func (f glab) Save(ctx context.Context, d Draft) (Pull, error) {
	title := d.Title
	if d.Draft {
		title = "Draft: " + title
	}
	endpoint, args := "merge_requests", []string{"--method", "POST", "--raw-field", "source_branch=" + d.Branch}
	if d.Number > 0 {
		endpoint, args = fmt.Sprintf("merge_requests/%d", d.Number), []string{"--method", "PUT"}
		title = d.Title
	}
	for _, field := range []struct{ name, value string }{{"target_branch", d.Base}, {"title", title}} {
		if field.value != "" {
			args = append(args, "--raw-field", field.name+"="+field.value)
		}
	}
	out, err := f.api(ctx, "", endpoint, d.Body, append(args, "--field", "description=@-")...)
	if err != nil {
		return Pull{}, err
	}
	var m mergeRequest
	err = f.decode(out, &m, "api", endpoint)
	return m.pull(), err
}

// Checks are the jobs of the newest pipeline. One of an older commit says nothing; that of a merge result has a commit of its own.
func (f glab) Checks(ctx context.Context, number int) (c Checks, err error) {
	endpoint := fmt.Sprintf("merge_requests/%d", number)
	out, err := f.api(ctx, "", endpoint, "")
	if err != nil {
		return c, err
	}
	var m mergeRequest
	if err := f.decode(out, &m, "api", endpoint); err != nil {
		return c, err
	}
	c.Commit = m.Commit
	switch p := m.Pipeline; {
	case p == nil:
		return c, nil
	case p.SHA != m.Commit && !strings.HasSuffix(p.Ref, "/merge"):
		c.List = []Check{{Name: "pipeline", State: Pending, URL: m.URL}}
		return c, nil
	}
	endpoint = fmt.Sprintf("pipelines/%d/jobs", m.Pipeline.ID)
	out, err = f.api(ctx, "", endpoint+"?per_page=100", "", "--paginate")
	if err != nil {
		return c, err
	}
	type job struct {
		ID           int64
		Name, Status string
		URL          string `json:"web_url"`
		MayFail      bool   `json:"allow_failure"`
	}
	jobs, err := pages[job](f.program, out, "api", endpoint)
	states := map[string]State{"success": Passed, "skipped": Passed, "manual": Passed, "failed": Failed, "canceled": Cancelled}
	for _, j := range jobs {
		state := cmp.Or(states[j.Status], Pending)
		if j.MayFail && state != Pending {
			state = Passed
		}
		c.List = append(c.List, Check{Name: j.Name, State: state, URL: j.URL, ID: strconv.FormatInt(j.ID, 10)})
	}
	return c, err
}

func (f glab) Log(ctx context.Context, c Check) (string, error) {
	if c.ID == "" {
		return "", nil
	}
	out, err := f.api(ctx, "", "jobs/"+url.PathEscape(c.ID)+"/trace", "")
	return strings.ToValidUTF8(string(out), "?"), err
}

type note struct {
	ID       int64
	Body     string
	System   bool
	Resolved bool
	Author   struct{ Username string }
	Position *struct {
		NewPath string `json:"new_path"`
		OldPath string `json:"old_path"`
		NewLine int    `json:"new_line"`
		OldLine int    `json:"old_line"`
	}
}

// Comments are what was said in discussions that nobody has resolved.
func (f glab) Comments(ctx context.Context, number int) ([]Comment, error) {
	endpoint := fmt.Sprintf("merge_requests/%d/discussions", number)
	out, err := f.api(ctx, "", endpoint+"?per_page=100", "", "--paginate")
	if err != nil {
		return nil, err
	}
	discussions, err := pages[struct{ Notes []note }](f.program, out, "api", endpoint)
	var list []Comment
	for _, d := range discussions {
		for _, n := range d.Notes {
			if n.System || n.Resolved || strings.TrimSpace(n.Body) == "" {
				continue
			}
			c := Comment{ID: strconv.FormatInt(n.ID, 10), Author: n.Author.Username, Text: n.Body}
			if at := n.Position; at != nil {
				c.Path, c.Line = cmp.Or(at.NewPath, at.OldPath), cmp.Or(at.NewLine, at.OldLine)
			}
			list = append(list, c)
		}
	}
	return list, err
}

func (f glab) Commented(ctx context.Context, issue Issue, text string) (bool, error) {
	endpoint := fmt.Sprintf("issues/%d/notes", issue.Number)
	out, err := f.api(ctx, issue.Repository, endpoint+"?per_page=100", "", "--paginate")
	if err != nil {
		return false, err
	}
	list, err := pages[note](f.program, out, "api", endpoint)
	return slices.ContainsFunc(list, func(n note) bool { return strings.Contains(n.Body, text) }), err
}

func (f glab) Comment(ctx context.Context, issue Issue, body string) error {
	_, err := f.api(ctx, issue.Repository, fmt.Sprintf("issues/%d/notes", issue.Number), body, "--method", "POST", "--field", "body=@-")
	return err
}
