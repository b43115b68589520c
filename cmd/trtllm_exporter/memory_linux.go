package main

import (
	"os"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// releaseStartupMemory drops the executable from the memory of the process; pages that are used
// again come back from the page cache. The initialization of the linked packages, above all of
// the Kubernetes client, maps 33 MB of the file, half of which is never used again. It does
// nothing if that is not possible.
func releaseStartupMemory() {
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
		// Writable pages would lose their content.
		if m.Pathname == program && m.Perms.Read && !m.Perms.Write {
			_, _, _ = unix.Syscall(unix.SYS_MADVISE, m.StartAddr, m.EndAddr-m.StartAddr, unix.MADV_DONTNEED)
		}
	}
}
