package collector_test

import (
	"flag"
	"os"
	"runtime/debug"
	"testing"

	"go.uber.org/goleak"
)

// TestMain runs many tests in parallel, because they mostly wait, and collects garbage
// less often, because their servers and exporters are short-lived; tests that measure
// memory set GOGC for their child process.
func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", parallelTests); err != nil {
		panic(err)
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
	goleak.VerifyTestMain(m)
}
