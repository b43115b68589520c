package main

import (
	"os"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// forgetStart takes the program's own file out of the memory of the process: what
// is needed comes back from the kernel's page cache as it is looked at. A start
// runs the set-up of every package that is linked, most of all that of Kubernetes'
// client, which maps 33 MB of the file; half of that is never looked at again.
// Where it cannot be done, the process has the memory that it had.
func forgetStart() {
	program, err := os.Executable()
	if err != nil {
		return
	}
	self, err := procfs.Self()
	if err != nil {
		return
	}
	maps, err := self.ProcMaps()
	if err != nil {
		return
	}
	for _, m := range maps {
		// What can be written to would be again as it is in the file.
		if m.Pathname == program && m.Perms.Read && !m.Perms.Write {
			_, _, _ = unix.Syscall(unix.SYS_MADVISE, m.StartAddr, m.EndAddr-m.StartAddr, unix.MADV_DONTNEED)
		}
	}
}
