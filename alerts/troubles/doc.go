// Package troubles holds the alerts against the matrix: which of them fire for
// every kind of server in every trouble. It owns the last column of the matrix'
// table, and must not know how pages are made or rules are written. It has tests
// only.
package troubles
