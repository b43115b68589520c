package discovery

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime/debug"
	"time"

	promconfig "github.com/prometheus/common/config"
)

// maxAnswer returns how large an answer to http_sd_configs may be: a small share of the memory limit, because its
// targets take many times its size.
func maxAnswer() int64 {
	const share, least, most = 256, 256 << 10, 16 << 20
	return min(max(debug.SetMemoryLimit(-1)/share, least), most)
}

// timedDial returns a dial function for connections that end after a timeout, each of which is used for one
// answer. net/http does not end one whose server switched to another protocol, or that asks for a token.
func timedDial(timeout time.Duration) promconfig.DialContextFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		if err := conn.SetDeadline(time.Now().Add(timeout)); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
		return conn, nil
	}
}

// limitedBody says why a body is not read to its end.
type limitedBody struct{ io.ReadCloser }

func (b limitedBody) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	if over, ok := errors.AsType[*http.MaxBytesError](err); ok {
		err = fmt.Errorf("the answer is larger than %d bytes, which is all that the memory limit allows for", over.Limit)
	}
	return n, err
}
