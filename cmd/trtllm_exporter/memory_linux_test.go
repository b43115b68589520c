package main

import (
	"os"
	"testing"

	"github.com/prometheus/procfs"
	"github.com/stretchr/testify/require"
)

// The program needs a small part of its file in memory, but half of it is there after the
// start.
func TestStartupMemoryIsReleased(t *testing.T) {
	name, err := os.Executable()
	require.NoError(t, err)
	file, err := os.Stat(name)
	require.NoError(t, err)
	self, err := procfs.Self()
	require.NoError(t, err)
	releaseStartupMemory()
	status, err := self.NewStatus()
	require.NoError(t, err)
	if status.RssFile == 0 {
		t.Skip("this kernel does not say how much of a process is files")
	}
	require.Less(t, status.RssFile, uint64(file.Size())/4)
}
