// Package kserve asks a Triton server over gRPC what its HTTP API would say:
// the KServe v2 protocol has both, and a server may run with the one alone. It
// owns one connection, the few messages and their twins in JSON; it must not
// know what the answers are for, nor where credentials come from.
package kserve
