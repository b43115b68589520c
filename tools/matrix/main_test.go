package matrix_test

import (
	"os"
	"runtime/debug"
	"testing"
)

// TestMain collects garbage less often than a process that goes on: what these
// tests build is garbage soon, and all of it is small.
func TestMain(m *testing.M) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	os.Exit(m.Run())
}
