// Package matrix takes every kind of server through every scenario: it owns what happens to the
// requests of a server while it loads, is healthy, fails, rejects requests, hangs, drains or restarts,
// has simulated servers of each kind and generation write their pages, and collects what is derived
// from them and the verdicts.
//
// The expected results are in testdata. Tests and the generator of documents use them; the program
// does not. The package must not know servers, ports or clocks. Begin reading at [Play].
package matrix
