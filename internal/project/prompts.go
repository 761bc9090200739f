package project

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"ralph/internal/copyfile"
	"ralph/internal/human"
)

// PromptFile is a file with what a project says in prompts.
type PromptFile struct {
	Section string // its name without .md
	Name    string // below the project's root, with slashes
	Text    string
}

// promptFolder is below .ralph.
const promptFolder = "prompts"

// maxPromptFile is more than any prompt takes, and little enough to be read by every command.
const maxPromptFile = 64 << 10

// PromptName is the name of a section's file below the project's root, with slashes.
func PromptName(section string) string {
	return path.Join(".ralph", promptFolder, section+".md")
}

// PromptFiles reads what the project says in prompts. Faulty lists what cannot be read, and why; nothing else is wrong.
func (p Project) PromptFiles() (files []PromptFile, faulty []error) {
	folder, err := p.openPrompts()
	if err != nil || folder == nil {
		return nil, faults(err)
	}
	defer folder.Close()
	entries, err := fs.ReadDir(folder.FS(), ".")
	if err != nil {
		return nil, faults(err)
	}
	for _, entry := range entries {
		name := entry.Name()
		if strings.HasPrefix(name, ".") || strings.HasSuffix(name, "~") { // what editors and systems leave
			continue
		}
		section, is := strings.CutSuffix(name, ".md")
		f := PromptFile{Section: section, Name: path.Join(".ralph", promptFolder, name)}
		if !is {
			faulty = append(faulty, fmt.Errorf("%s: the name of a section's file ends in .md", f.Name))
		} else if f.Text, err = readPrompt(folder, name); err != nil {
			faulty = append(faulty, fmt.Errorf("%s: %w", f.Name, bare(err)))
		} else {
			files = append(files, f)
		}
	}
	return files, faulty
}

func faults(err error) []error {
	if err == nil {
		return nil
	}
	return []error{fmt.Errorf("%s: %w", path.Join(".ralph", promptFolder), bare(err))}
}

// bare is an error without the name that os repeats.
func bare(err error) error {
	var named *fs.PathError
	if errors.As(err, &named) {
		return named.Err
	}
	return err
}

// openPrompts opens the folder, which is no link: what it leads to could be an agent's. Nil means that there is none.
func (p Project) openPrompts() (*os.Root, error) {
	state, err := os.OpenRoot(p.State())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer state.Close()
	info, err := state.Lstat(promptFolder)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case info.Mode()&fs.ModeSymlink != 0:
		return nil, errors.New("it is a symbolic link, which is not followed")
	case !info.IsDir():
		return nil, errors.New("it is not a folder")
	}
	return state.OpenRoot(promptFolder)
}

func readPrompt(folder *os.Root, name string) (string, error) {
	f, _, err := copyfile.Open(folder, name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxPromptFile+1))
	if err == nil && len(data) > maxPromptFile {
		err = fmt.Errorf("it has more than %s", human.Bytes(maxPromptFile))
	}
	return string(data), err
}

// WritePrompt writes the file of a section, unless there is one: that is fs.ErrExist.
func (p Project) WritePrompt(section, text string) error {
	if err := os.MkdirAll(p.State(), 0o700); err != nil {
		return err
	}
	if err := os.Mkdir(filepath.Join(p.State(), promptFolder), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	folder, err := p.openPrompts()
	if err != nil || folder == nil {
		return errors.Join(faults(err)...)
	}
	defer folder.Close()
	f, err := folder.OpenFile(section+".md", os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("%s: %w", PromptName(section), bare(err))
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err != nil {
		_ = folder.Remove(section + ".md") // half of it would be taken for all of it
		return fmt.Errorf("%s: %w", PromptName(section), bare(err))
	}
	return nil
}
