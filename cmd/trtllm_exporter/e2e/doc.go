// Package e2e owns the tests that run the built exporter against real servers.
// It knows only the flags and pages of the binary and imports none of its packages.
// Most tests are lives of servers: tables of steps, each with what happens and what the exporter must say.
package e2e
