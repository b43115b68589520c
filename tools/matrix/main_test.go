package matrix_test

import (
	"os"
	"runtime/debug"
	"testing"
)

// TestMain collects garbage less often than the default, because the tests allocate
// many small short-lived objects.
func TestMain(m *testing.M) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	os.Exit(m.Run())
}

// is returns what something is said to be, or "not" that: failures then name what was wanted and got.
func is(so bool, what string) string {
	if so {
		return what
	}
	return "not " + what
}
