package kserve

import (
	"context"
	"net"

	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"
)

// attempt is one of the connections that a Conn makes one after the other. It records why
// the connection failed, because grpc-go passes on the text of that and not the error.
type attempt struct {
	credentials.TransportCredentials

	conn   *Conn
	number int
}

// dial opens the connection.
func (a *attempt) dial(ctx context.Context, address string) (net.Conn, error) {
	conn, err := a.conn.options.Dial(ctx, "tcp", address)
	a.record(err)
	if err != nil {
		return nil, err
	}
	return &limitedConn{conn, a.conn}, nil
}

// ClientHandshake implements credentials.TransportCredentials.
func (a *attempt) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := a.TransportCredentials.ClientHandshake(ctx, authority, raw)
	a.record(err)
	return conn, info, err
}

// Clone implements credentials.TransportCredentials.
func (a *attempt) Clone() credentials.TransportCredentials {
	return &attempt{a.TransportCredentials.Clone(), a.conn, a.number}
}

// record stores the outcome unless there is a later attempt.
func (a *attempt) record(err error) {
	a.conn.mu.Lock()
	defer a.conn.mu.Unlock()
	if a.number == a.conn.attempts {
		a.conn.failure = err
	}
}

// isPending reports whether a connection was requested and is not there.
func isPending(s connectivity.State) bool {
	return s == connectivity.Connecting || s == connectivity.TransientFailure
}

// limitedConn is a connection over which no more arrives than the requests allow. Frames
// that answer nothing would keep a processor busy for as long as the connection lasts.
type limitedConn struct {
	net.Conn

	conn *Conn
}

// Read implements net.Conn.
func (l *limitedConn) Read(into []byte) (int, error) {
	n, err := l.Conn.Read(into)
	if l.conn.allowance.Add(int64(-n)) < 0 && err == nil {
		return n, errEndless
	}
	return n, err
}
