package proc

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Split cuts a command line into words as a shell would, honouring quotes and
// backslashes, and expands nothing. What a shell would replace by something
// else ($variables, $(commands), a leading ~) or treat as control (; | & < >)
// is an error unless quoted so that it is literal; wildcards and braces are
// taken literally. The parser takes a carriage return before a newline for
// part of the line's end and drops it, quoted or not.
func Split(line string) ([]string, error) {
	var words []string
	parser := syntax.NewParser(syntax.Variant(syntax.LangPOSIX))
	for word, err := range parser.WordsSeq(strings.NewReader(line)) {
		if err != nil {
			return nil, splitError(line, err)
		}
		text, err := Literal(word)
		if err != nil {
			return nil, splitError(line, err)
		}
		words = append(words, text)
	}
	if len(words) == 0 {
		return nil, fmt.Errorf("split command %q: it is empty", line)
	}
	return words, nil
}

func splitError(line string, err error) error {
	var parse syntax.ParseError
	if errors.As(err, &parse) {
		return fmt.Errorf("split command %q: column %d: %s; there is no shell, so quote it or use sh -c '...'",
			line, parse.Pos.Col(), parse.Text)
	}
	return fmt.Errorf("split command %q: %w", line, err)
}

// Literal is what a word is to the program that gets it. What a shell would replace is an error.
func Literal(word *syntax.Word) (string, error) {
	var b strings.Builder
	for i, part := range word.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			if i == 0 && strings.HasPrefix(p.Value, "~") {
				return "", errors.New("~ is not expanded; write the path in full or quote it")
			}
			b.WriteString(unescape(p.Value, ""))
		case *syntax.SglQuoted:
			text, known := p.Value, true
			if p.Dollar {
				text, known = unquote(text)
			}
			if !known {
				return "", expansionError(p)
			}
			b.WriteString(text)
		case *syntax.DblQuoted:
			for _, inner := range p.Parts {
				lit, ok := inner.(*syntax.Lit)
				if !ok {
					return "", expansionError(inner)
				}
				b.WriteString(unescape(lit.Value, "\"\\$`\n"))
			}
		default:
			return "", expansionError(part)
		}
	}
	return b.String(), nil
}

func expansionError(part syntax.WordPart) error {
	var b strings.Builder
	if err := syntax.NewPrinter().Print(&b, part); err != nil {
		b.WriteString("it")
	}
	return fmt.Errorf("%s is not expanded; write the value, or put it in single quotes to mean it literally", b.String())
}

// unquote reads the escapes of $'...' that syntax.Quote writes, and octal ones. A NUL would end the word.
func unquote(s string) (text string, known bool) {
	var b strings.Builder
	for s != "" {
		plain, _, found := strings.Cut(s, `\`)
		b.WriteString(plain)
		if s = s[len(plain):]; !found {
			break
		}
		r, multibyte, rest, err := strconv.UnquoteChar(s, '\'')
		switch {
		case err != nil || r == 0:
			return "", false
		case multibyte:
			b.WriteRune(r)
		default:
			b.WriteByte(byte(r))
		}
		s = rest
	}
	return b.String(), true
}

// unescape removes backslashes: before any character, or, when only is given,
// before one of those. A backslash before a newline joins the lines.
func unescape(s, only string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) || only != "" && !strings.ContainsRune(only, rune(s[i+1])) {
			b.WriteByte(s[i])
			continue
		}
		i++
		if s[i] != '\n' {
			b.WriteByte(s[i])
		}
	}
	return b.String()
}
