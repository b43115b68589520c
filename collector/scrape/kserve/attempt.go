package kserve

import (
	"context"
	"net"

	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"
)

// attempt is one of the connections that a Conn makes one after the other.
type attempt struct {
	*Conn

	number int
}

// dial opens the connection and keeps why it could not, because grpc-go hands
// the text of that on and not the error.
func (a *attempt) dial(ctx context.Context, address string) (net.Conn, error) {
	conn, err := a.options.Dial(ctx, "tcp", address)
	a.note(err)
	if err != nil {
		return nil, err
	}
	return &bounded{conn, a.Conn}, nil
}

// bounded is a connection over which no more comes than was asked for. Frames that
// answer nothing would keep a processor busy for as long as the connection lasts.
type bounded struct {
	net.Conn

	of *Conn
}

// Read implements net.Conn.
func (b *bounded) Read(into []byte) (int, error) {
	n, err := b.Conn.Read(into)
	if b.of.room.Add(int64(-n)) < 0 && err == nil {
		return n, errEndless
	}
	return n, err
}

// note keeps the outcome of an attempt to connect, unless there is a later one.
func (a *attempt) note(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.number == a.made {
		a.failed = err
	}
}

// failing reports whether a connection is not there, although it was asked for.
func failing(s connectivity.State) bool {
	return s == connectivity.Connecting || s == connectivity.TransientFailure
}

// watched notes the failures of TLS handshakes.
type watched struct {
	credentials.TransportCredentials

	at *attempt
}

// ClientHandshake implements credentials.TransportCredentials.
func (w *watched) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := w.TransportCredentials.ClientHandshake(ctx, authority, raw)
	w.at.note(err)
	return conn, info, err
}

// Clone implements credentials.TransportCredentials.
func (w *watched) Clone() credentials.TransportCredentials {
	return &watched{w.TransportCredentials.Clone(), w.at}
}
