package scrape_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
)

// fewConnections returns a client with a limit of connections.
func fewConnections(t *testing.T, connections int) (*scrape.Resources, *scrape.Client) {
	t.Helper()
	shared := scrape.Bounded(1<<20, connections)
	client, err := scrape.BoundedClient(shared, scrape.DefaultConfig, quiet(), (&net.Dialer{}).DialContext)
	require.NoError(t, err)
	t.Cleanup(func() {
		client.Close()
		require.Eventually(t, func() bool { return shared.Connections().Used == 0 }, ample, time.Millisecond)
	})
	return shared, client
}

// pageWhileShort requests a page for which another request has to lose its connection.
func pageWhileShort(t *testing.T, client *scrape.Client) {
	t.Helper()
	web := serve(t, nil, replies(answer("200 OK", "Content-Type: text/plain\r\n", page)))
	ctx, cancel := context.WithTimeout(t.Context(), ample)
	defer cancel()
	_, err := client.Scrape(ctx, web.url, nil)
	require.NoError(t, err)
}

// greeting is what a gRPC server says first. The client gives up one that says nothing.
const greeting = "\x00\x00\x00\x04\x00\x00\x00\x00\x00"

// talks starts a server that begins each answer with some bytes, and never ends it.
func talks(t *testing.T, begin, again string) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go talk(t.Context(), conn, begin, again)
		}
	}()
	return listener.Addr().String()
}

// talk answers on one connection as talks does.
func talk(ctx context.Context, conn net.Conn, begin, again string) {
	defer conn.Close()
	_, _ = bufio.NewReader(conn).ReadByte()
	_, err := io.WriteString(conn, begin)
	for err == nil && ctx.Err() == nil {
		time.Sleep(10 * time.Millisecond)
		_, err = io.WriteString(conn, again)
	}
}

func TestHangingGRPCCallLosesConnection(t *testing.T) {
	t.Parallel()
	shared, client := fewConnections(t, 1)
	ctx, cancel := context.WithTimeout(t.Context(), ample)
	defer cancel()
	errs := make(chan error)
	hangs := talks(t, greeting, "")
	go func() {
		_, _, _, err := client.Do(ctx, http.MethodPost, "grpc://"+hangs+"/v2/repository/index", nil, 0)
		errs <- err
	}()
	require.Eventually(t, func() bool { return shared.Connections().Used == 1 }, ample, time.Millisecond)
	pageWhileShort(t, client)
	requireFailure(t, <-errs, scrape.ReasonResource, scrape.ClassSlow, "others waited")
	require.EqualValues(t, 1, shared.Connections().Reclaimed)
}

func TestStreamLosesConnection(t *testing.T) {
	t.Parallel()
	head := "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
	for name, address := range map[string]string{
		"while it arrives":  "http://" + talks(t, head, "data: {}\n\n"),
		"before it arrives": "http://" + talks(t, "", ""),
		"over gRPC, silent": "grpc://" + talks(t, greeting, ""),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shared, client := fewConnections(t, 1)
			ended := make(chan error)
			go func() {
				resp, err := client.Open(
					t.Context(),
					http.MethodPost,
					address+"/v2/models/m/generate_stream",
					[]byte("{}"),
				)
				if err == nil {
					_, err = io.Copy(io.Discard, resp.Body)
					err = errors.Join(err, resp.Body.Close())
				}
				ended <- err
			}()
			require.Eventually(t, func() bool { return shared.Connections().Used == 1 }, ample, time.Millisecond)
			pageWhileShort(t, client)
			err := <-ended
			require.Error(t, err)
			var short interface{ Short() bool }
			require.ErrorAs(t, err, &short, "%v", err)
			require.True(t, short.Short(), "%v is a shortage", err)
			require.Equal(t, scrape.ReasonResource, scrape.ReasonOf(err))
			require.EqualValues(t, 1, shared.Connections().Reclaimed)
		})
	}
}

func TestStreamKeepsSpareConnection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, 2)
		c.streams = func(conn net.Conn) { talk(t.Context(), conn, "HTTP/1.1 200 OK\r\n\r\n", "more") }
		resp, err := c.client.Open(t.Context(), http.MethodPost, "http://streams-0/v1/completions", []byte("{}"))
		require.NoError(t, err)
		var all sync.WaitGroup
		c.scrape(&all, "healthy", 1, 3, 0)
		_, err = io.ReadFull(resp.Body, make([]byte, 12000)) // Thirty seconds.
		require.NoError(t, err)
		require.Zero(t, c.shared.Connections().Reclaimed)
		require.NoError(t, resp.Body.Close())
		c.end(&all)
		for _, round := range c.results["healthy"] {
			require.Equal(t, map[string]int{"good": 1}, round)
		}
	})
}

func TestStreamWithoutConnectionIsNoServerFault(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, 1)
		c.takes["healthy"] = new(atomic.Int64)
		var all sync.WaitGroup
		c.scrape(&all, "hangs", 1, 1, never)
		time.Sleep(time.Second / 2)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second/4, cancel) // It is not cut by then.
		//nolint:bodyclose // There is none.
		_, err := c.client.Open(
			ctx,
			http.MethodPost,
			"http://healthy-0/v1/completions",
			[]byte("{}"),
		)
		requireFailure(t, err, scrape.ReasonResource, "", "all 1 connections")
		c.end(&all)
	})
}
