// Package identity says who a replica is: what the operator declared of it, what
// its server answered and what its page names, put together; and which labels
// its series get from that. Everything here is a pure function: it asks nobody,
// and knows no kind of server by name.
package identity
