package exposition_test

import (
	"os"
	"runtime/debug"
	"testing"
)

// TestMain reduces the number of garbage collections: the heap of these tests is small.
func TestMain(m *testing.M) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	os.Exit(m.Run())
}
