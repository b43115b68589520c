// Package api asks a server over its own API: whether it is there and ready, who
// it is, and for its iterations. It keeps of earlier answers what still counts.
//
// Each kind of server says in engine what is asked and what an answer means;
// when to ask is the replica's to say. The package knows neither pages nor
// replicas.
package api
