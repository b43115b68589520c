package scenarios_test

import (
	"os"
	"runtime/debug"
	"testing"
)

// TestMain collects garbage less often than the default, because the tests allocate many small short-lived objects.
func TestMain(m *testing.M) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	os.Exit(m.Run())
}
