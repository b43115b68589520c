// Package troubles tests which alerts fire for every kind of server in every trouble of
// tools/matrix. It owns the last column of the table there, and must not know how pages or
// rules are made.
package troubles
