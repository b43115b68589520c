package discovery

import (
	"context"
	"fmt"
	"net"
	"runtime/debug"

	promconfig "github.com/prometheus/common/config"
)

// An answer to http_sd_configs may take one in answerShare of the memory limit, because its
// targets take many times its size, but at least minAnswer and at most maxAnswer bytes.
const answerShare, minAnswer, maxAnswer = 256, 256 << 10, 16 << 20

// limitedDial returns a dial function for connections from which no more than the limit can be
// read. Each connection is used for one answer.
func limitedDial() promconfig.DialContextFunc {
	limit := min(max(debug.SetMemoryLimit(-1)/answerShare, minAnswer), maxAnswer)
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &limitedConn{Conn: conn, remaining: limit, limit: limit}, nil
	}
}

type limitedConn struct {
	net.Conn

	remaining, limit int64
}

func (c *limitedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if c.remaining -= int64(n); c.remaining < 0 && err == nil {
		return n, fmt.Errorf("the answer is larger than %d bytes, which is all that the memory "+
			"limit allows for", c.limit)
	}
	return n, err
}
