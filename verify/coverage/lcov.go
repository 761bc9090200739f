package coverage

import (
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

// File reads a file of coverage that a gate wrote: lcov, or a profile of Go. Only the files named are of interest.
func File(text, root string, files []string, read Read) Profile {
	if strings.HasPrefix(text, "mode: ") {
		names, b := goNames(files, read), blocks{}
		_ = b.read(strings.NewReader(text), func(name string) bool { return names[name] != "" }) // a text has no errors
		return b.profile(names, read)
	}
	return lcov(text, root, files)
}

// lcov reads "SF:path", "DA:line,count" and "end_of_record".
func lcov(text, root string, files []string) Profile {
	wanted := map[string]bool{}
	for _, file := range files {
		wanted[file] = true
	}
	p, file := Profile{}, ""
	for line := range strings.Lines(text) {
		kind, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch kind {
		case "SF":
			file = filepath.ToSlash(value)
			if filepath.IsAbs(value) {
				file, _ = projectFile("file://"+file, root)
			}
			if file = path.Clean(file); !wanted[file] {
				file = ""
			}
		case "DA":
			number, count, _ := strings.Cut(value, ",")
			count, _, _ = strings.Cut(count, ",")
			if n, err := strconv.Atoi(number); err == nil && file != "" {
				p.add(file, n, strings.TrimLeft(count, "0.") != "")
			}
		case "end_of_record":
			file = ""
		}
	}
	return p
}
