// Package kserve asks a Triton server over gRPC what its HTTP API would answer:
// the KServe v2 protocol has both, and a server may run with gRPC only. It owns
// one connection, the messages that are read and how they are written as JSON;
// it must not know what the answers are for, nor where credentials come from.
package kserve
