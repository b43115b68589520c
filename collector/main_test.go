package collector_test

import (
	"flag"
	"os"
	"runtime/debug"
	"testing"

	"go.uber.org/goleak"
)

// TestMain has many tests run side by side: they wait rather than compute, and
// each has servers and an exporter of its own. What they build is garbage soon,
// so that it is collected less often than by a process that goes on, unless a
// test that measures memory sets GOGC for its child.
func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", sideBySide); err != nil {
		panic(err)
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	goleak.VerifyTestMain(m)
}
