package git

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"strconv"
)

// Indexed is a file in an index.
type Indexed struct {
	Name   string
	Link   bool // it is a submodule
	Staged bool // one of the sides of a conflict
}

// errIndex says that only git understands an index: it is damaged, of a kind that is not known here, or only a part.
var errIndex = errors.New("an index that only git understands")

// ParseIndex lists what is in the file of an index, whose repository has IDs as long as one. Anybody may have written it.
func ParseIndex(data []byte, id string) ([]Indexed, error) {
	const stat, inMode, head = 40, 24, 12
	hash := len(id) / 2
	if len(data) < head+hash || string(data[:4]) != "DIRC" {
		return nil, errIndex
	}
	version, count := binary.BigEndian.Uint32(data[4:]), binary.BigEndian.Uint32(data[8:])
	rest := data[head : len(data)-hash]
	if version < 2 || version > 4 || int64(count) > int64(len(rest)/(stat+hash)) {
		return nil, errIndex
	}
	list := make([]Indexed, 0, count)
	var last []byte
	for range count {
		if len(rest) < stat+hash+4 {
			return nil, errIndex
		}
		mode, flags, size := binary.BigEndian.Uint32(rest[inMode:]), binary.BigEndian.Uint16(rest[stat+hash:]), stat+hash+2
		if flags&0x4000 != 0 {
			size += 2
		}
		var name []byte
		if version == 4 { // what it has in common with the last one is left out
			drop, n := varint(rest[size:])
			if n == 0 || drop > uint64(len(last)) {
				return nil, errIndex
			}
			name, size = slices.Clip(last[:uint64(len(last))-drop]), size+n
		}
		end := bytes.IndexByte(rest[size:], 0)
		if end < 0 || mode>>12 == 0o4 { // a folder stands for what is in it
			return nil, errIndex
		}
		name, size = append(name, rest[size:size+end]...), size+end
		if size++; version < 4 {
			size = (size + 7) &^ 7
		}
		if size > len(rest) {
			return nil, errIndex
		}
		list = append(list, Indexed{string(name), strconv.FormatUint(uint64(mode), 8) == Gitlink, flags&0x3000 != 0})
		last, rest = name, rest[size:]
	}
	for len(rest) > 0 { // one in small letters changes what the index means
		if len(rest) < 8 || rest[0] < 'A' || rest[0] > 'Z' || uint64(binary.BigEndian.Uint32(rest[4:])) > uint64(len(rest)-8) {
			return nil, errIndex
		}
		rest = rest[8+binary.BigEndian.Uint32(rest[4:]):]
	}
	return list, nil
}

// varint reads a number as git writes one, and how long it is, 0 if there is none.
func varint(data []byte) (value uint64, n int) {
	for n < len(data) && n < 8 {
		b := data[n]
		if n++; n > 1 {
			value++
		}
		value = value<<7 | uint64(b&0x7f)
		if b&0x80 == 0 {
			return value, n
		}
	}
	return 0, 0
}
