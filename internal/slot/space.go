package slot

import (
	"fmt"
	"os"
	"path/filepath"

	"ralph/internal/disk"
	"ralph/internal/human"
)

// Space is the space for slots.
type Space struct {
	Free int64 // on the file system that they are on
	Need int64 // what has to be free
	Low  bool  // there is not twice as much: people should be warned
	Full bool  // nothing new is to begin
}

func (r Space) String() string {
	return human.Bytes(r.Free) + " free, and " + human.Bytes(r.Need) + " have to be"
}

// Space looks at the file system that slots are on. What part of it is used does not count: 5 % of
// a small disk are too little, and of a large one more than all slots ever take.
func (p *Pool) Space(another bool) (Space, error) {
	dir := p.o.Dir
	for {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	free, err := disk.Free(dir)
	if err != nil {
		return Space{}, fmt.Errorf("space for slots: %w", err)
	}
	r := Space{Free: free, Need: p.o.MinFree}
	if another { // it will be as large as the largest
		list, err := p.List()
		if err != nil {
			return Space{}, err
		}
		var largest int64
		for _, info := range list {
			largest = max(largest, info.Size)
		}
		r.Need += largest
	}
	r.Full, r.Low = r.Free < r.Need, r.Free < 2*r.Need
	return r, nil
}
