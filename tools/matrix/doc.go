// Package matrix puts every kind of server into every trouble: pages that a
// server of each kind and generation shows while it is healthy, fails, refuses,
// hangs or restarts, and what is derived from them and judged of them.
//
// The table of testdata is what must come out; the tests and the generator of
// the documentation read it from here. No server, port or clock is needed, and
// nothing of it is part of the program.
package matrix
