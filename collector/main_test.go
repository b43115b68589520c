package collector_test

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
)

// TestMain has many tests run side by side: they wait rather than compute, and
// each has servers and an exporter of its own.
func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", sideBySide); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}
