package collector_test

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
)

// TestMain has many tests run side by side, for they wait rather than compute:
// each has servers and an exporter of its own. -parallel says otherwise.
func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", "16"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}
