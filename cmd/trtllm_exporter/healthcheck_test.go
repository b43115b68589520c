package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Container runtimes keep the output of health checks.
func TestHealthcheckHidesPassword(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if _, password, _ := req.BasicAuth(); password != "hush" || req.URL.Path != healthyPath {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	t.Cleanup(server.Close)
	as := func(user string) string { return strings.Replace(server.URL, "://", "://"+user+"@", 1) }
	for _, c := range []struct {
		name, url string
		want      int
	}{
		{"a good password", as("me:hush"), exitOK},
		{"another path", as("me:hush") + "/-/ready", exitFailure},
		{"an invalid port", "http://me:hush@localhost:port", exitUsage},
		{"an unsupported scheme", "ftp://me:hush@localhost", exitUsage},
		{"no scheme", "me:hush@localhost:9802", exitUsage},
		{"nothing listens", "http://me:hush@127.0.0.1:1", exitFailure},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out, problems bytes.Buffer
			require.Equal(t, c.want, run([]string{"healthcheck", c.url}, &out, &problems))
			require.NotEmpty(t, out.String()+problems.String())
			require.NotContains(t, out.String()+problems.String(), "hush")
		})
	}
}
