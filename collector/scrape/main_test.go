package scrape_test

import (
	"flag"
	"runtime/debug"
	"testing"

	"go.uber.org/goleak"
)

// TestMain runs many tests in parallel: they wait rather than compute.
func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", "24"); err != nil {
		panic(err)
	}
	debug.SetGCPercent(400)
	goleak.VerifyTestMain(m)
}
