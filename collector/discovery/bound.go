package discovery

import (
	"context"
	"fmt"
	"net"
	"runtime/debug"

	promconfig "github.com/prometheus/common/config"
)

// answerShare is the part of the memory limit that the answer of one http_sd_configs may
// have; what is made of it takes many times its size. leastAnswer and mostAnswer bound it in bytes.
const answerShare, leastAnswer, mostAnswer = 256, 256 << 10, 16 << 20

// answerBound is how many bytes that answer may have.
func answerBound() int64 {
	return min(max(debug.SetMemoryLimit(-1)/answerShare, leastAnswer), mostAnswer)
}

// bounded opens connections over which so many bytes may come. Each is for one answer.
func bounded(bytes int64) promconfig.DialContextFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &answer{Conn: conn, left: bytes, bound: bytes}, nil
	}
}

// answer is the connection of one answer.
type answer struct {
	net.Conn

	left, bound int64
}

// Read implements net.Conn.
func (a *answer) Read(into []byte) (int, error) {
	n, err := a.Conn.Read(into)
	if a.left -= int64(n); a.left < 0 && err == nil {
		return n, fmt.Errorf("the answer is over %d bytes, which is the most that the memory limit has room for", a.bound)
	}
	return n, err
}
