package forge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"ralph/internal/lazyregexp"
)

// gh is GitHub's program.
type gh struct{ program }

func (f gh) call(ctx context.Context, input string, args ...string) ([]byte, error) {
	env := []string{"GH_PROMPT_DISABLED=1", "GH_NO_UPDATE_NOTIFIER=1", "NO_COLOR=1"}
	if f.Home.Path != "" {
		env = append(env, "GH_REPO="+f.Home.Host+"/"+f.Home.Path)
	}
	return f.run(ctx, env, input, args...)
}

// api calls an endpoint of a repository, of this one if it is "".
func (f gh) api(ctx context.Context, repository, endpoint, input string, args ...string) ([]byte, error) {
	args = append([]string{"api", "repos/" + cmp.Or(repository, f.Home.Path, "{owner}/{repo}") + "/" + endpoint}, args...)
	if f.Home.Host != "" {
		args = append(args, "--hostname", f.Home.Host)
	}
	return f.call(ctx, input, args...)
}

func (f gh) Find(ctx context.Context, branch string) (Pull, error) {
	args := []string{"pr", "list", "--head", branch, "--state", "open", "--limit", "20", "--json", "number,url,body,baseRefName,isCrossRepository"}
	out, err := f.call(ctx, "", args...)
	if err != nil {
		return Pull{}, err
	}
	var list []struct {
		Number            int
		URL, Body         string
		BaseRefName       string
		IsCrossRepository bool // somebody's fork has a branch of the same name
	}
	if err := f.decode(out, &list, args...); err != nil {
		return Pull{}, err
	}
	for _, p := range list {
		if !p.IsCrossRepository {
			return Pull{p.Number, p.URL, p.BaseRefName, p.Body}, nil
		}
	}
	return Pull{}, nil
}

// Save changes a pull request through the API: gh pr edit needs rights to projects in many versions.
func (f gh) Save(ctx context.Context, d Draft) (Pull, error) {
	if d.Number == 0 {
		args := []string{"pr", "create", "--head", d.Branch, "--base", d.Base, "--title", d.Title, "--body-file", "-"}
		if d.Draft {
			args = append(args, "--draft")
		}
		if _, err := f.call(ctx, d.Body, args...); err != nil {
			return Pull{}, err
		}
		p, err := f.Find(ctx, d.Branch)
		if err == nil && p.Number == 0 {
			err = &Error{f.Name(), "gh pr create", Garbage, "a pull request of " + d.Branch + " that it does not list"}
		}
		return p, err
	}
	args := []string{"--method", "PATCH", "--field", "body=@-"}
	if d.Title != "" {
		args = append(args, "--raw-field", "title="+d.Title)
	}
	if d.Base != "" {
		args = append(args, "--raw-field", "base="+d.Base)
	}
	endpoint := fmt.Sprintf("pulls/%d", d.Number)
	out, err := f.api(ctx, "", endpoint, d.Body, args...)
	if err != nil {
		return Pull{}, err
	}
	var p struct {
		Number int
		URL    string `json:"html_url"`
		Body   string
		Base   struct{ Ref string }
	}
	err = f.decode(out, &p, "api", endpoint)
	return Pull{p.Number, p.URL, p.Base.Ref, p.Body}, err
}

// Checks asks for the commit first: if somebody pushes in between, the checks are newer than the commit, and nothing waits for an old one.
func (f gh) Checks(ctx context.Context, number int) (c Checks, err error) {
	view := []string{"pr", "view", strconv.Itoa(number), "--json", "headRefOid"}
	out, err := f.call(ctx, "", view...)
	if err != nil {
		return c, err
	}
	var head struct{ HeadRefOid string }
	if err := f.decode(out, &head, view...); err != nil {
		return c, err
	}
	c.Commit = head.HeadRefOid
	args := []string{"pr", "checks", strconv.Itoa(number), "--json", "name,state,bucket,link,workflow"}
	out, err = f.call(ctx, "", args...)
	var e *Error
	if errors.As(err, &e) && e.Trouble == Refused {
		switch {
		case strings.Contains(e.Said, "no checks reported"):
			return c, nil
		case len(out) > 0: // versions differ in whether red and pending checks are a failure
			err = nil
		}
	}
	if err != nil {
		return c, err
	}
	var list []struct{ Name, State, Bucket, Link, Workflow string }
	if err := f.decode(out, &list, args...); err != nil {
		return c, err
	}
	buckets := map[string]State{"pass": Passed, "skipping": Passed, "fail": Failed, "pending": Pending, "cancel": Cancelled}
	for _, k := range list {
		name := k.Name
		if k.Workflow != "" && k.Workflow != k.Name {
			name = k.Workflow + " / " + k.Name
		}
		c.List = append(c.List, Check{Name: name, State: cmp.Or(buckets[k.Bucket], Pending), URL: k.Link, ID: k.Link})
	}
	return c, nil
}

var actionsJob = lazyregexp.New(`/actions/runs/(\d+)(?:/jobs?/(\d+))?`)

// Log is that of a job of Actions. Checks of others have theirs elsewhere.
func (f gh) Log(ctx context.Context, c Check) (string, error) {
	m := actionsJob.Get().FindStringSubmatch(c.ID)
	if m == nil {
		return "", nil
	}
	args := []string{"run", "view", m[1], "--log-failed"}
	if m[2] != "" {
		args = []string{"run", "view", "--job", m[2], "--log-failed"}
	}
	out, err := f.call(ctx, "", args...)
	return strings.ToValidUTF8(withoutColumns(string(out)), "?"), err
}

var stamped = lazyregexp.New(`^[^\t\n]*\t[^\t\n]*\t(?:\x{FEFF})?\d{4}-\d\d-\d\dT[\d:.]+Z `)

// withoutColumns takes job, step and time off the lines of a log.
func withoutColumns(log string) string {
	var b strings.Builder
	for line := range strings.Lines(log) {
		b.WriteString(strings.TrimPrefix(line, stamped.Get().FindString(line)))
	}
	return b.String()
}

// Comments are those on lines, those of reviews that do not approve, and those of the conversation.
func (f gh) Comments(ctx context.Context, number int) ([]Comment, error) {
	type said struct {
		ID           int64
		User         struct{ Login string }
		Body, Path   string
		Line         int
		OriginalLine int    `json:"original_line"` // where it was when it was written
		URL          string `json:"html_url"`
		State        string
		At           string `json:"created_at"`
		Submitted    string `json:"submitted_at"`
	}
	type dated struct {
		Comment
		at string
	}
	var all []dated
	for kind, endpoint := range map[string]string{"line": "pulls/%d/comments", "review": "pulls/%d/reviews", "talk": "issues/%d/comments"} {
		endpoint = fmt.Sprintf(endpoint, number)
		out, err := f.api(ctx, "", endpoint+"?per_page=100", "", "--paginate")
		if err != nil {
			return nil, err
		}
		list, err := pages[said](f.program, out, "api", endpoint)
		if err != nil {
			return nil, err
		}
		for _, c := range list {
			if strings.TrimSpace(c.Body) == "" || kind == "review" && c.State != "COMMENTED" && c.State != "CHANGES_REQUESTED" {
				continue
			}
			all = append(all, dated{Comment{
				ID: fmt.Sprintf("%s-%d", kind, c.ID), Author: c.User.Login, Text: c.Body, Path: c.Path, Line: cmp.Or(c.Line, c.OriginalLine), URL: c.URL,
			}, cmp.Or(c.At, c.Submitted)})
		}
	}
	slices.SortFunc(all, func(x, y dated) int { return cmp.Or(cmp.Compare(x.at, y.at), cmp.Compare(x.ID, y.ID)) })
	var list []Comment
	for _, c := range all {
		list = append(list, c.Comment)
	}
	return list, nil
}

func (f gh) Commented(ctx context.Context, issue Issue, text string) (bool, error) {
	endpoint := fmt.Sprintf("issues/%d/comments", issue.Number)
	out, err := f.api(ctx, issue.Repository, endpoint+"?per_page=100", "", "--paginate")
	if err != nil {
		return false, err
	}
	list, err := pages[struct{ Body string }](f.program, out, "api", endpoint)
	return slices.ContainsFunc(list, func(c struct{ Body string }) bool { return strings.Contains(c.Body, text) }), err
}

func (f gh) Comment(ctx context.Context, issue Issue, body string) error {
	_, err := f.api(ctx, issue.Repository, fmt.Sprintf("issues/%d/comments", issue.Number), body, "--method", "POST", "--field", "body=@-")
	return err
}
