package disk

import "golang.org/x/sys/windows"

// Of is the space of the volume that dir is on.
func Of(dir string) (Space, error) {
	path, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return Space{}, err
	}
	var free, total uint64
	err = windows.GetDiskFreeSpaceEx(path, &free, &total, nil)
	return Space{Total: int64(total), Free: int64(free)}, err
}
