package discovery

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"runtime/debug"
	"time"

	promconfig "github.com/prometheus/common/config"
)

// An answer to http_sd_configs may take one in answerShare of the memory limit, because its
// targets take many times its size, but at least minAnswer and at most maxAnswer bytes.
const answerShare, minAnswer, maxAnswer = 256, 256 << 10, 16 << 20

// maxHead is how much may come besides the body: headers, or all that TLS adds.
const maxHead = 64 << 10

// limitedDial returns a dial function for connections from which no more than the limit can be
// read, and nothing after a timeout, which net/http does not enforce once a server switched to another
// protocol. Each connection is used for one answer. Over TLS it cannot be seen where the body begins.
func limitedDial(overTLS bool, timeout time.Duration) promconfig.DialContextFunc {
	limit := min(max(debug.SetMemoryLimit(-1)/answerShare, minAnswer), maxAnswer)
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		if err := conn.SetDeadline(time.Now().Add(timeout)); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
		return &limitedConn{Conn: conn, remaining: limit + maxHead, limit: limit, inBody: overTLS}, nil
	}
}

type limitedConn struct {
	net.Conn

	remaining, limit int64
	// inBody is true once the headers are over, of which head holds the last bytes.
	inBody bool
	head   []byte
}

func (c *limitedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.remaining -= int64(n)
	if !c.inBody {
		c.skipHead(b[:n])
	}
	if c.remaining < 0 && err == nil {
		// A body that is complete without the bytes beyond the limit would hide the error.
		return max(0, n+int(c.remaining)), fmt.Errorf("the answer is larger than %d bytes, which is all that the memory "+
			"limit allows for", c.limit)
	}
	return n, err
}

// skipHead looks for the end of the headers. From there on only the body counts.
func (c *limitedConn) skipHead(b []byte) {
	const end = "\r\n\r\n"
	c.head = append(c.head, b...)
	if i := bytes.Index(c.head, []byte(end)); i >= 0 {
		c.inBody, c.remaining = true, c.limit-int64(len(c.head)-i-len(end))
		c.head = nil
		return
	}
	c.head = c.head[max(0, len(c.head)-len(end)+1):]
}
