// Package atomicfile replaces files whole. It never leaves half of one behind.
package atomicfile

import (
	"errors"
	"os"
	"path/filepath"
)

// Write puts a file in place whole or not at all, even if the machine stops. It makes
// the folder if that is missing.
func Write(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".tmp-*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
