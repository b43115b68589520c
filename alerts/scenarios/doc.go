// Package scenarios tests which alerts fire for every kind of server in every scenario of
// tools/matrix. It owns the last column of the table there, and must not know how pages or
// rules are made.
package scenarios
