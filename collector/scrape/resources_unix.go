//go:build unix

package scrape

import (
	"math"
	"syscall"
)

func openFiles() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil || limit.Cur > math.MaxInt32 {
		return defaultOpenFiles
	}
	return int(limit.Cur)
}
