package project

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"slices"
	"strings"

	"ralph/internal/copyfile"
)

// Loaded is a configuration with the place that each value came from.
type Loaded struct {
	Config
	origins map[string]string
	old     []OldName
}

// OldName is a key that a file calls by the name of an earlier version.
type OldName struct {
	File    string
	Line    int
	Old, Is string
}

// OldNames lists those in the files that were read, at most one for each file.
func (l Loaded) OldNames() []OldName { return l.old }

// Origin says where the value of a key like "limit" was set, by whichever of its names, or an entry like "serve.schedule.1".
func (l Loaded) Origin(key string) string {
	for _, k := range Keys() {
		if rest, is := strings.CutPrefix(key+".", k.Old+"."); is && k.Old != "" {
			key = strings.TrimSuffix(k.Name+"."+rest, ".")
			break
		}
	}
	if o, ok := l.origins[key]; ok {
		return o
	}
	return "default"
}

// Given says that somebody set a key, also to what it is by default.
func (l Loaded) Given(key string) bool { return l.Origin(key) != "default" }

// Load merges, each over the one before: the defaults, the user's file, the project's file, and the environment: RALPH_MAX_COST sets
// max_cost. Either path may be empty or missing. What is wrong in a file is told all at once, as Problems.
func Load(userFile, projectFile string, getenv func(string) string) (Loaded, error) {
	l := Loaded{Config: Default(), origins: map[string]string{}}
	// Of a home that cannot be entered nothing is known, as of one that is not there.
	if _, err := os.Stat(userFile); err == nil {
		if err := l.addFile(userFile); err != nil {
			return Loaded{}, err
		}
	}
	if err := l.addFile(projectFile); err != nil {
		return Loaded{}, err
	}
	if err := l.addEnv(getenv); err != nil {
		return Loaded{}, err
	}
	return l, nil
}

// maxConfig is the size of a configuration, which an agent may have replaced.
const maxConfig = 16 << 20

func (l *Loaded) addFile(path string) error {
	if path == "" {
		return nil
	}
	data, err := copyfile.Read(path, maxConfig)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrConfig, err)
	}
	return l.add(path, data)
}

// add merges what a file has.
func (l *Loaded) add(path string, data []byte) error {
	data = bytes.TrimPrefix(data, []byte("\ufeff")) // some editors begin a file with it
	if bytes.HasPrefix(data, []byte{0xff, 0xfe}) || bytes.HasPrefix(data, []byte{0xfe, 0xff}) {
		return fmt.Errorf("%w: %s:1: it is UTF-16; save it as UTF-8", ErrConfig, path)
	}
	doc, err := readDocument(path, data)
	if err != nil {
		return err
	}
	layer := &layer{l, doc, map[string]string{}, nil}
	for _, g := range doc.givens(l.keys(), layer.problem) {
		layer.add(g)
	}
	layer.combined()
	if layer.problems != nil {
		slices.SortStableFunc(layer.problems, func(a, b Problem) int { return doc.line(a.Key) - doc.line(b.Key) })
		return layer.problems
	}
	return nil
}

// layer is a file that is merged over what was there before.
type layer struct {
	*Loaded
	doc      *document
	names    map[string]string // that keys have in the file
	problems Problems
}

func (l *layer) problem(name, why string) {
	l.problems = append(l.problems, Problem{fmt.Sprintf("%s:%d", l.doc.path, l.doc.line(name)), name, why})
}

// add merges a key. Of one that adds, what was there before stays.
func (l *layer) add(g given) {
	k, thing := g.key, g.key.thing()
	if other, twice := l.names[thing]; twice && (k.rule.of == "" || other == thing) {
		l.problem(g.name, fmt.Sprintf("it is the old name of %s, which line %d sets; leave one of them out", thing, l.doc.line(other)))
		return
	}
	l.names[thing] = g.name
	l.noteOld(k, g.name)
	before := len(l.problems)
	at, earlier := reflect.ValueOf(k.at), reflect.Value{}
	if k.rule.adds {
		earlier = reflect.ValueOf(at.Elem().Interface())
		at.Elem().SetZero()
	}
	if c, ok := k.at.(compound); !ok {
		into(at.Elem(), g.value, g.name, l.problem)
	} else if why := c.set(g.value); why != "" {
		l.problem(g.name, why)
	}
	if name, why := k.wrong(earlier); why != "" && len(l.problems) == before {
		l.problem(g.name+strings.TrimPrefix(name, k.Name), why)
	}
	l.note(k, g, earlier)
	if k.rule.adds {
		at.Elem().Set(reflect.AppendSlice(earlier.Slice3(0, earlier.Len(), earlier.Len()), at.Elem()))
	}
}

// note remembers which file has set a key, or entries of it.
func (l *layer) note(k Key, g given, earlier reflect.Value) {
	table, named := g.value.(map[string]any)
	switch {
	case named && k.isEntries():
		for name := range table {
			l.origins[k.Name+"."+name] = l.doc.path
		}
	case k.rule.adds && k.isEntries():
		for i := range reflect.ValueOf(k.at).Elem().Len() {
			l.origins[fmt.Sprintf("%s.%d", k.Name, earlier.Len()+i+1)] = l.doc.path
		}
	case k.rule.adds && l.origins[k.Name] != "":
		l.origins[k.Name] += ", " + l.doc.path
	default:
		l.origins[k.thing()] = l.doc.path
	}
}

// noteOld remembers the first key of a file that has a name of an earlier version.
func (l *layer) noteOld(k Key, name string) {
	old := OldName{l.doc.path, l.doc.line(name), name, k.now(name)}
	switch i := slices.IndexFunc(l.old, func(o OldName) bool { return o.File == old.File }); {
	case old.Is == "":
	case i < 0:
		l.old = append(l.old, old)
	case old.Line < l.old[i].Line:
		l.old[i] = old
	}
}

// combined finds what is wrong with several keys together, each of which is right.
func (l *layer) combined() {
	if why := l.Sandbox.Network.invalid(); why != "" && l.problems == nil {
		l.problem(cmp.Or(l.names["sandbox.network.hosts"], l.names["sandbox.network"], "sandbox.network"), why)
	}
}

func (l *Loaded) addEnv(getenv func(string) string) error {
	for _, k := range l.keys() {
		for _, name := range k.Variables() {
			text := getenv(name)
			if text == "" || k.rule.of != "" && getenv(EnvName(k.rule.of)) != "" {
				continue
			}
			err := k.setText(text)
			if why := k.invalid(); err == nil && why != "" {
				err = errors.New(why)
			}
			if err != nil {
				return fmt.Errorf("%w: %s: %w", ErrConfig, name, err)
			}
			l.origins[k.thing()] = name
			break
		}
	}
	return nil
}
