// Package kserve answers the requests of Triton's HTTP API over gRPC: the KServe v2 protocol
// has both, and a server may run with gRPC only. It owns the connection of a call, the
// messages and their JSON. It must know neither what the answers are used for nor where
// credentials come from. Begin reading at [Server.Do] and [Server.Stream].
package kserve
