package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"ralph/internal/jsonval"
	"ralph/internal/seq"
	"ralph/internal/term"
)

// Palette decides about colour for what goes to stdout.
func (a *App) Palette() term.Palette { return a.paletteOn(a.OutIsTerm) }

// StderrPalette decides about colour for what people watch.
func (a *App) StderrPalette() term.Palette { return a.paletteOn(a.ErrIsTerm) }

func (a *App) paletteOn(terminal bool) term.Palette {
	wanted := terminal && a.color != "never" && a.Getenv("NO_COLOR") == "" && a.Getenv("TERM") != "dumb"
	return term.Palette{On: wanted || a.color == "always"}
}

// Logger writes to stderr what a person asked for by --verbose, or less.
func (a *App) Logger() zerolog.Logger {
	level := zerolog.WarnLevel
	switch {
	case a.Quiet:
		level = zerolog.ErrorLevel
	case a.Verbose:
		level = zerolog.DebugLevel
	}
	var out io.Writer = zerolog.ConsoleWriter{Out: a.Stderr, NoColor: true, TimeFormat: "15:04:05.000"}
	if a.logsJSON() {
		out = a.Stderr
	}
	return zerolog.New(out).Level(level).Hook(zerolog.HookFunc(func(e *zerolog.Event, _ zerolog.Level, _ string) {
		e.Str(zerolog.TimestampFieldName, a.Now().UTC().Format("2006-01-02T15:04:05.000Z07:00"))
	}))
}

// logsJSON says that a machine reads stderr: every line of it is an object.
func (a *App) logsJSON() bool {
	return a.LogsInstead() && a.LogFormat == "json"
}

// Note tells a person what happened; scripts read stdout.
func (a *App) Note(format string, args ...any) {
	text := term.Line(fmt.Sprintf(format, args...))
	switch warning, warns := strings.CutPrefix(text, "warning: "); {
	case a.Quiet:
	case !a.logsJSON():
		a.Complain(text)
	case warns:
		log := a.Logger()
		log.Warn().Msg(warning)
	default:
		log := a.Logger().Level(zerolog.InfoLevel)
		log.Info().Msg(text)
	}
}

// Complain writes a line to stderr, broken at words on a terminal.
func (a *App) Complain(text string) {
	width := 0
	if a.ErrIsTerm && a.ErrWidth != nil {
		width = a.ErrWidth()
	}
	for _, part := range term.Wrap(a.Redact.Text(text), width, "  ") {
		fmt.Fprintln(a.Stderr, part)
	}
}

// Written drops the count of a write and keeps its error.
func Written[N any](_ N, err error) error { return err }

// Null is text that JSON has as null if it is empty.
type Null = jsonval.NullString

// PrintJSON prints a result.
func (a *App) PrintJSON(v any) error { return jsonval.Print(a.Stdout, v) }

// PrintList prints a list as JSON or as a table. What it means that it is empty goes to stderr.
func PrintList[T, J any](a *App, list []T, json bool, asJSON func(T) J, none string, header []string, row func(T) []term.Cell) error {
	switch {
	case json:
		return a.PrintJSON(seq.Map(list, asJSON))
	case len(list) == 0:
		a.Note("%s", none)
		return nil
	}
	return PrintTable(a, header, list, row)
}

// PrintTable prints a row for each element, below a header if there is one.
func PrintTable[T any](a *App, header []string, list []T, row func(T) []term.Cell) error {
	t := &term.Table{Width: a.Width}
	if header != nil {
		t.Add(Cells(a.Palette().Dim, header...)...)
	}
	for _, e := range list {
		t.Add(row(e)...)
	}
	return Written(fmt.Fprint(a.Stdout, t))
}

// Cells are texts in one colour.
func Cells(paint func(string) string, texts ...string) []term.Cell {
	return seq.Map(texts, func(text string) term.Cell { return term.Cell{Text: text, Paint: paint} })
}

// FieldLines are aligned lines of names, each followed by its value, broken at words on a terminal; those without a value
// are left out.
func (a *App) FieldLines(fields ...string) (text string) {
	for f := range slices.Chunk(fields, 2) {
		if f[1] != "" {
			line := fmt.Sprintf("  %-10s %s", f[0], term.Line(a.Redact.Text(f[1]))) // before it is broken
			text += strings.Join(term.Wrap(line, a.Width, strings.Repeat(" ", 13)), "\n") + "\n"
		}
	}
	return text
}

// Stamp is a time as people read it, or nothing for none.
func Stamp(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.Local().Format(time.DateTime)
}

// LogsInstead says that the log takes the place of what people watch.
func (a *App) LogsInstead() bool { return a.LogFormat != "" && a.LogFile == "" }
