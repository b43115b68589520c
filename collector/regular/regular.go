// Package regular tells files, which can be read to their end, from folders, pipes and devices, which may have none.
package regular

import (
	"errors"
	"io/fs"
	"os"
)

// ErrNoEnd is the error for what may have no end: reading it could take for ever.
var ErrNoEnd = errors.New("it is a folder, pipe or device, which may have no end; name a file")

// File returns an error if there is no file of a name, or [ErrNoEnd]. It does not open it, since opening a pipe waits
// for its writer.
func File(name string) error {
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	return Info(info)
}

// Info returns [ErrNoEnd] for anything but a regular file.
func Info(info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return ErrNoEnd
	}
	return nil
}
