package top

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Whoever answers at the address may send more than there is memory for.
func TestAnswersAreBounded(t *testing.T) {
	for name, part := range map[string]string{
		"text without end":     strings.Repeat("x", 1<<16),
		"replicas without end": strings.Repeat("{},", 1<<14),
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.WriteString(w, `{"replicas":[`)
				for r.Context().Err() == nil {
					if _, err := io.WriteString(w, part); err != nil {
						return
					}
				}
			}))
			defer server.Close()
			client := Client{HTTP: server.Client(), URL: server.URL}
			_, _, err := client.Fleet(t.Context())
			require.Error(t, err)
			if !errors.Is(err, context.DeadlineExceeded) { // A busy machine cannot read so much in time.
				require.ErrorContains(t, err, "answers more than any exporter does")
			}
			server.Client().CloseIdleConnections()
		})
	}
}

// The body of such an answer is the connection, which no deadline ends.
func TestAnswerThatSwitchesProtocolIsRefused(t *testing.T) {
	ended := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer func() { _ = conn.Close() }()
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n")
		<-ended
	}))
	defer server.Close()
	defer close(ended)
	client := Client{HTTP: server.Client(), URL: server.URL}
	_, _, err := client.Fleet(t.Context())
	require.ErrorContains(t, err, "answers 101")
}
