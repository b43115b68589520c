package exposition_test

import (
	"runtime/debug"
	"testing"
)

// TestMain reduces the number of garbage collections: the heap of these tests is small.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	m.Run()
}
