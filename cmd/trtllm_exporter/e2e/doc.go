// Package e2e owns the tests that run the built exporter against real servers.
// It knows only the flags and pages of the binary and imports none of its packages.
package e2e
