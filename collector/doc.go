// Package collector keeps a replica at work for each target of the
// configuration: it reconciles replicas with what discovery finds, tells them on
// its clock when they are due, and compares those of a pool with each other. It
// knows no page format, no kinds of servers and no readers.
package collector
