// Package e2e owns the tests that run the built exporter against real servers.
// It knows the binary by its flags and pages alone and imports no room of it.
package e2e
