package knowledge

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"unicode/utf8"
)

const maxFile = 64 << 10

// readText reads a small text file below root. It neither follows a link out of
// root nor waits for a pipe.
func readText(root *os.Root, name string, limit int64) (string, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", reason(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", reason(err)
	}
	if err := isPlain(info); err != nil {
		return "", err
	}
	data, err := io.ReadAll(io.LimitReader(f, limit))
	if err != nil {
		return "", reason(err)
	}
	return plainText(data, info.Size() > limit)
}

// isPlain refuses what is not a file of bytes.
func isPlain(info fs.FileInfo) error {
	switch mode := info.Mode(); {
	case mode&fs.ModeSymlink != 0:
		return errors.New("a symbolic link, which is not followed")
	case mode.IsDir():
		return errors.New("a folder")
	case !mode.IsRegular():
		return errors.New("not a regular file")
	}
	return nil
}

// plainText refuses what is not text. The last rune of a file that was read in
// part may be half.
func plainText(data []byte, part bool) (string, error) {
	if part {
		for n := 0; n < utf8.UTFMax && len(data) > 0 && !utf8.Valid(data); n++ {
			data = data[:len(data)-1]
		}
	}
	if !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0 {
		return "", errors.New("not a text file")
	}
	text := strings.TrimPrefix(string(data), "\ufeff")
	return strings.ReplaceAll(text, "\r\n", "\n"), nil
}

func tooLarge(size int64) error {
	return fmt.Errorf("%d bytes, more than the %d that are read", size, maxFile)
}

// reason drops the path from an error, because whoever prints it names the file.
func reason(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	if strings.Contains(err.Error(), "escapes from parent") { // the library has no name for it
		return errors.New("a link there leads out of the project and is not followed")
	}
	return err
}
