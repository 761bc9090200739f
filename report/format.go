package report

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
)

// Format is a form of the report.
type Format string

// Formats lists them.
func Formats() []Format { return []Format{"text", "markdown", "html", "json", "junit"} }

// ParseFormat reads the name of a format; md is markdown.
func ParseFormat(name string) (Format, error) {
	if name == "md" {
		name = "markdown"
	}
	if !slices.Contains(Formats(), Format(name)) {
		return "", fmt.Errorf("text, markdown, html, json or junit, not %q", name)
	}
	return Format(name), nil
}

// FormatOf is the format that the name of a file says, or text.
func FormatOf(path string) Format {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".html", ".htm":
		return "html"
	case ".md", ".markdown":
		return "markdown"
	case ".json":
		return "json"
	case ".xml":
		return "junit"
	default:
		return "text"
	}
}

// Write writes the report in a format; the options are those of text and of HTML.
func Write(w io.Writer, r Run, format Format, text TextOptions, page HTMLOptions) error {
	switch format {
	case "markdown":
		return Markdown(w, r)
	case "html":
		return HTML(w, r, page)
	case "json":
		return JSON(w, r)
	case "junit":
		return JUnit(w, r)
	default:
		return Text(w, r, text)
	}
}
