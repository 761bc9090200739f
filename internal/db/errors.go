package db

import (
	"errors"
	"io/fs"
	"syscall"

	"zombiezen.com/go/sqlite"
)

// Kind says why the file cannot be used, in terms a user can act on.
type Kind int

// The kinds of trouble.
const (
	Foreign  Kind = iota + 1 // a file of another program, or no database at all
	Newer                    // written by a later version of ralph
	Damaged                  // truncated or corrupt
	Lost                     // emptied, or deleted with its log left: there was a database once
	ReadOnly                 // the file or its folder cannot be written
	Full                     // no space left
	Busy                     // another process kept it locked for longer than we wait
	Replaced                 // deleted or replaced during a run, which saved a copy
)

// Error is trouble with the file itself rather than with what was asked of it.
type Error struct {
	Path   string
	Kind   Kind
	Detail string
	Saved  string // the copy of one that was Replaced
	Err    error
}

// Error says what is wrong with which file.
func (e *Error) Error() string {
	text := e.Path + ": " + map[Kind]string{
		Foreign:  "not a ralph database",
		Newer:    "the database was written by a newer ralph",
		Damaged:  "the database is damaged or cut short",
		Lost:     "the database is lost",
		ReadOnly: "the database or its folder cannot be written",
		Full:     "the disk is full",
		Busy:     "the database is locked by another process",
		Replaced: "the database was deleted or replaced during a run",
	}[e.Kind]
	if e.Detail != "" {
		text += " (" + e.Detail + ")"
	}
	return text
}

// Unwrap gives the cause as SQLite or the operating system named it.
func (e *Error) Unwrap() error { return e.Err }

// classify names the trouble behind err if it lies in the file; other errors
// pass as they are.
func classify(path string, err error) error {
	var already *Error
	if err == nil || errors.As(err, &already) {
		return err
	}
	if kind := kindOf(err); kind != 0 {
		return &Error{Path: path, Kind: kind, Err: err}
	}
	return err
}

func kindOf(err error) Kind {
	switch {
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return ReadOnly
	case errors.Is(err, syscall.ENOSPC):
		return Full
	}
	switch code := sqlite.ErrCode(err); code.ToPrimary() {
	case sqlite.ResultNotADB:
		return Foreign
	case sqlite.ResultCorrupt:
		return Damaged
	case sqlite.ResultReadOnly, sqlite.ResultCantOpen, sqlite.ResultPerm:
		return ReadOnly
	case sqlite.ResultFull:
		return Full
	case sqlite.ResultBusy, sqlite.ResultLocked:
		return Busy
	case sqlite.ResultIOErr:
		switch code {
		case sqlite.ResultIOErrShortRead:
			return Damaged
		case sqlite.ResultIOErrSHMSize: // the index beside the log could not grow
			return Full
		}
	}
	return 0
}
