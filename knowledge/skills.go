package knowledge

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"unicode/utf8"

	"ralph/internal/words"
)

// Skill is a file that an agent may read when it needs it.
type Skill struct {
	Name, Description string
	Path              string // relative to the project's root
	Score             int    // how many words it shares with the task
}

const (
	skillFile      = "SKILL.md"
	maxSkillFiles  = 200 // that are read in each folder
	maxDescription = 300 // bytes
)

// Skills returns the skills below a project's root that have to do with a task,
// best first, ties by name, at most 5. A skill does if its description and the
// task's title and description share two telling words, or one that is also in the
// skill's name. Only the beginning of each file is read.
func Skills(project string, q Query) ([]Skill, []Warning) {
	root, err := os.OpenRoot(project)
	if err != nil {
		return nil, []Warning{{project, reason(err).Error()}}
	}
	defer root.Close()
	task := q.task()
	var skills []Skill
	var warnings []Warning
	for _, folder := range []string{".ralph/skills", ".claude/skills"} { // the first to name a skill wins
		names, warned := skillNames(root, folder)
		warnings = append(warnings, warned...)
		for _, name := range names {
			skill, err := readSkill(root, filepath.ToSlash(filepath.Join(folder, name, skillFile)), name)
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
				continue // a folder without a skill, or no folder
			}
			if err != nil {
				warnings = append(warnings, Warning{skill.Path, err.Error()})
				continue
			}
			taken := func(s Skill) bool { return titleKey(s.Name) == titleKey(skill.Name) }
			if skill.Score = shared(skill, task); skill.Score > 0 && !slices.ContainsFunc(skills, taken) {
				skills = append(skills, skill)
			}
		}
	}
	slices.SortStableFunc(skills, func(a, b Skill) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(titleKey(a.Name), titleKey(b.Name)))
	})
	return skills[:min(len(skills), 5)], warnings
}

func skillNames(root *os.Root, folder string) ([]string, []Warning) {
	dir, err := root.OpenRoot(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, []Warning{{folder, reason(err).Error()}}
	}
	defer dir.Close()
	names, warnings := list(dir, folder, func(name string) bool { return name[0] != '.' })
	if len(names) > maxSkillFiles {
		names = names[:maxSkillFiles]
		warnings = append(warnings, Warning{folder, "more than 200 skills; the rest is not read"})
	}
	return names, warnings
}

func readSkill(root *os.Root, path, folder string) (Skill, error) {
	skill := Skill{Path: path}
	text, err := readText(root, path, 2*maxFront)
	if err != nil {
		return skill, err
	}
	head, _, err := split(text)
	if err != nil {
		return skill, err
	}
	var f struct {
		Name        string `yaml:"name"`
		Description string `yaml:"description"`
	}
	if err := decode(head, &f); err != nil {
		return skill, err
	}
	skill.Name = cmp.Or(oneLine(f.Name, maxTag), oneLine(folder, maxTag))
	skill.Description = oneLine(f.Description, maxDescription)
	if skill.Description == "" {
		return skill, errors.New("no description")
	}
	return skill, nil
}

// shared counts the telling words that a skill shares with a task; 0 if they are
// too few.
func shared(s Skill, task words.Text) int {
	name := words.TextOf(words.Names(s.Name))
	seen := map[string]bool{}
	named := false
	for _, word := range append(words.Names(s.Name), words.Names(s.Description)...) {
		if !seen[word] && isTelling(word) && task.Holds(word) {
			seen[word] = true
			named = named || name.Holds(word)
		}
	}
	if len(seen) < 2 && !named {
		return 0
	}
	return len(seen)
}

// isTelling leaves out the words that every description has.
func isTelling(word string) bool {
	switch word {
	case "use", "used", "uses", "using", "user", "asks", "ask", "need", "needs", "make", "makes", "new", "add", "code", "file",
		"files", "task", "tasks", "project", "work", "working", "skill", "create", "creating", "write", "writing", "guide":
		return false
	}
	return utf8.RuneCountInString(word) > 2 && words.Tells(word)
}
