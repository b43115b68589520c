package simulate

import (
	"fmt"
	"net"
)

// ServeCanned answers every request of each connection to the listener with the
// next of the pages, with as little work as can be, so that the figures of a
// benchmark are the client's. It returns when the listener is closed.
func ServeCanned(listener net.Listener, pages [][]byte) {
	replies := make([][]byte, len(pages))
	for i, page := range pages {
		head := fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\n\r\n", len(page))
		replies[i] = append(head, page...)
	}
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		go replay(conn, replies)
	}
}

// replay serves one connection until its client leaves.
func replay(conn net.Conn, replies [][]byte) {
	defer func() { _ = conn.Close() }()
	request := make([]byte, 4096)
	for n := 0; ; n++ {
		if _, err := conn.Read(request); err != nil {
			return
		}
		if _, err := conn.Write(replies[n%len(replies)]); err != nil {
			return
		}
	}
}
