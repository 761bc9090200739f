package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// entry is a file of an archive.
type entry struct {
	name    string
	program bool
	data    []byte
}

func (e entry) mode() os.FileMode {
	if e.program {
		return 0o755
	}
	return 0o644
}

// pack writes an archive: tar.gz (also as tgz) or zip, by its name. The same entries and time give the same bytes.
func pack(file string, entries []entry, when time.Time) error {
	var b bytes.Buffer
	var err error
	if strings.HasSuffix(file, ".zip") {
		err = packZip(&b, entries, when)
	} else {
		err = packTar(&b, entries, when)
	}
	if err != nil {
		return fmt.Errorf("pack %s: %w", filepath.Base(file), err)
	}
	return os.WriteFile(file, b.Bytes(), 0o644)
}

func packTar(to io.Writer, entries []entry, when time.Time) error {
	zipped, err := gzip.NewWriterLevel(to, gzip.BestCompression)
	if err != nil {
		return err
	}
	w := tar.NewWriter(zipped)
	for _, e := range entries {
		header := tar.Header{Name: e.name, Mode: int64(e.mode()), Size: int64(len(e.data)), ModTime: when, Uname: "root", Gname: "root", Format: tar.FormatUSTAR}
		if err := w.WriteHeader(&header); err != nil {
			return err
		}
		if _, err := w.Write(e.data); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	return zipped.Close()
}

func packZip(to io.Writer, entries []entry, when time.Time) error {
	w := zip.NewWriter(to)
	for _, e := range entries {
		header := &zip.FileHeader{Name: e.name, Method: zip.Deflate, Modified: when.UTC()}
		header.SetMode(e.mode())
		f, err := w.CreateHeader(header)
		if err != nil {
			return err
		}
		if _, err := f.Write(e.data); err != nil {
			return err
		}
	}
	return w.Close()
}

// unpack reads one file of an archive.
func unpack(file, name string) ([]byte, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if strings.HasSuffix(file, ".zip") {
		r, err := zip.NewReader(bytes.NewReader(text), int64(len(text)))
		if err != nil {
			return nil, err
		}
		f, err := r.Open(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Base(file), err)
		}
		return io.ReadAll(f)
	}
	zipped, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	for r := tar.NewReader(zipped); ; {
		h, err := r.Next()
		if err != nil {
			return nil, fmt.Errorf("%s in %s: %w", name, filepath.Base(file), err)
		}
		if path.Clean(h.Name) == name {
			return io.ReadAll(r)
		}
	}
}
