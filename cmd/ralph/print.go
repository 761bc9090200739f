package main

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

// palette decides about colour for what goes to stdout.
func (a *app) palette() term.Palette { return a.paletteOn(a.outIsTerm) }

// stderrPalette decides about colour for what people watch.
func (a *app) stderrPalette() term.Palette { return a.paletteOn(a.errIsTerm) }

func (a *app) paletteOn(terminal bool) term.Palette {
	wanted := terminal && a.color != "never" && a.getenv("NO_COLOR") == "" && a.getenv("TERM") != "dumb"
	return term.Palette{On: wanted || a.color == "always"}
}

func (a *app) logger() zerolog.Logger {
	level := zerolog.WarnLevel
	switch {
	case a.quiet:
		level = zerolog.ErrorLevel
	case a.verbose:
		level = zerolog.DebugLevel
	}
	var out io.Writer = zerolog.ConsoleWriter{Out: a.stderr, NoColor: true, TimeFormat: "15:04:05.000"}
	if a.logsJSON() {
		out = a.stderr
	}
	return zerolog.New(out).Level(level).Hook(zerolog.HookFunc(func(e *zerolog.Event, _ zerolog.Level, _ string) {
		e.Str(zerolog.TimestampFieldName, a.now().UTC().Format("2006-01-02T15:04:05.000Z07:00"))
	}))
}

// logsJSON says that a machine reads stderr: every line of it is an object.
func (a *app) logsJSON() bool {
	return a.logsInstead() && a.logFormat == "json"
}

// note tells a person what happened; scripts read stdout.
func (a *app) note(format string, args ...any) {
	text := term.Line(fmt.Sprintf(format, args...))
	switch warning, warns := strings.CutPrefix(text, "warning: "); {
	case a.quiet:
	case !a.logsJSON():
		a.complain(text)
	case warns:
		log := a.logger()
		log.Warn().Msg(warning)
	default:
		log := a.logger().Level(zerolog.InfoLevel)
		log.Info().Msg(text)
	}
}

// complain writes a line to stderr, broken at words on a terminal.
func (a *app) complain(text string) {
	width := 0
	if a.errIsTerm && a.errWidth != nil {
		width = a.errWidth()
	}
	for _, part := range term.Wrap(a.redact.Text(text), width, "  ") {
		fmt.Fprintln(a.stderr, part)
	}
}

// written drops the count of a write and keeps its error.
func written[N any](_ N, err error) error { return err }

// null is text that JSON has as null if it is empty.
type null = jsonval.NullString

func (a *app) printJSON(v any) error { return jsonval.Print(a.stdout, v) }

// printList prints a list as JSON or as a table. What it means that it is empty goes to stderr.
func printList[T, J any](a *app, list []T, json bool, asJSON func(T) J, none string, header []string, row func(T) []term.Cell) error {
	switch {
	case json:
		return a.printJSON(seq.Map(list, asJSON))
	case len(list) == 0:
		a.note("%s", none)
		return nil
	}
	return printTable(a, header, list, row)
}

// printTable prints a row for each element, below a header if there is one.
func printTable[T any](a *app, header []string, list []T, row func(T) []term.Cell) error {
	t := &term.Table{Width: a.width}
	if header != nil {
		t.Add(cells(a.palette().Dim, header...)...)
	}
	for _, e := range list {
		t.Add(row(e)...)
	}
	return written(fmt.Fprint(a.stdout, t))
}

func cells(paint func(string) string, texts ...string) []term.Cell {
	return seq.Map(texts, func(text string) term.Cell { return term.Cell{Text: text, Paint: paint} })
}

// fieldLines are aligned lines of names, each followed by its value, broken at words on a terminal; those without a value
// are left out.
func (a *app) fieldLines(fields ...string) (text string) {
	for f := range slices.Chunk(fields, 2) {
		if f[1] != "" {
			line := fmt.Sprintf("  %-10s %s", f[0], term.Line(a.redact.Text(f[1]))) // before it is broken
			text += strings.Join(term.Wrap(line, a.width, strings.Repeat(" ", 13)), "\n") + "\n"
		}
	}
	return text
}

// stamp is a time as people read it, or nothing for none.
func stamp(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.Local().Format(time.DateTime)
}
