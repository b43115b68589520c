package main

import (
	"bytes"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestServersWithAZoneAreAsked names a server by an IPv6 address with a zone, in the spellings of addresses and URLs.
func TestServersWithAZoneAreAsked(t *testing.T) {
	listener, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Skip("there is no IPv6")
	}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("vllm:num_requests_running 1\n"))
	}))
	s.Listener.Close()
	s.Listener = listener
	s.Start()
	t.Cleanup(s.Close)
	port := s.URL[strings.LastIndexByte(s.URL, ':'):]
	for _, address := range []string{"[::1%1]" + port, "http://[::1%1]" + port, "http://[::1%251]" + port} {
		for _, command := range [][]string{{"scrape"}, {"top", "--once", "--target"}, {"healthcheck"}} {
			var out, problems bytes.Buffer
			run(append(command, address), &out, &problems)
			require.NotContains(t, problems.String(), "URL", "%s %s", command, address)
			if command[0] != "healthcheck" {
				require.Contains(t, out.String(), "[::1%1]"+port, "%s %s", command, address)
			}
		}
	}
}
