// Package kserve answers the requests of Triton's HTTP API over gRPC: the KServe v2 protocol
// has both, and a server may run with gRPC only. It owns one connection to a server, the
// messages and their JSON. It must not know what the answers are for, nor where credentials
// come from. Begin reading at [Conn.Do] and [Conn.Stream].
package kserve
