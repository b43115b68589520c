package simulate_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

func TestDemoFleetMovesWithinSeconds(t *testing.T) {
	fleet, err := simulate.StartFleet(t.Context(), simulate.DemoFleet(50))
	require.NoError(t, err)
	defer fleet.Close()
	require.Len(t, fleet.Pools(), 2)
	seen := map[string]bool{}
	for _, pool := range fleet.Pools() {
		require.Len(t, pool.Replicas, 3)
		for _, r := range pool.Replicas {
			require.False(t, seen[r.MetricsAddr()], "every replica has its own port")
			seen[r.MetricsAddr()] = true
			require.Equal(t, r, fleet.Replica(pool.Name, r.Name()))
			require.Eventually(t, func() bool { return r.Truth().Finished > 50 }, 10*time.Second, 10*time.Millisecond)
			samples, _ := parsePage(t, []byte(get(t, r.MetricsURL()).body))
			require.NotEmpty(t, samples)
		}
	}
}

func TestDemoReplicasQueueInBurstsAndRecover(t *testing.T) {
	for _, pool := range simulate.DemoFleet(0).Pools {
		for _, spec := range pool.Replicas {
			r := newReplica(t, spec)
			most, idle := 0, false
			for range 180 {
				r.Advance(time.Second)
				truth := r.Truth()
				most = max(most, truth.Queued)
				idle = idle || most > 10 && truth.Queued == 0
			}
			require.Greater(t, most, 10, spec.Name)
			require.True(t, idle, "%s recovers from its bursts", spec.Name)
			require.Greater(t, r.Truth().GeneratedTokensSoFar, uint64(180*300), spec.Name)
		}
	}
}

func TestTwoReplicasCannotHaveOnePort(t *testing.T) {
	first := listening(t, simulate.Spec{Kind: simulate.KindServe})
	_, port, err := splitPort(first.APIAddr())
	require.NoError(t, err)
	second := newReplica(t, simulate.Spec{Kind: simulate.KindServe, APIPort: port})
	err = second.Listen(t.Context())
	if err == nil {
		second.Close()
	}
	require.Error(t, err)
	require.Error(t, first.Listen(t.Context()), "a replica listens once")
}

func TestHandlersWorkWithoutSockets(t *testing.T) {
	r := newReplica(t, simulate.Spec{Workload: simulate.Workload{Rate: 4}})
	r.Advance(time.Minute)
	answer := httptest.NewRecorder()
	r.MetricsHandler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody))
	require.Equal(t, string(r.Page()), answer.Body.String())
	answer = httptest.NewRecorder()
	r.APIHandler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/v2/health/ready", http.NoBody))
	require.Equal(t, http.StatusOK, answer.Code)
	r.Stop()
	require.PanicsWithValue(t, http.ErrAbortHandler, func() {
		r.APIHandler().ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/v2", http.NoBody))
	})
}

func TestFaultyPagesGoWrongAsNamed(t *testing.T) {
	page := simulate.BenchPage(simulate.BenchTRTLLM, 1, 1)
	faulty := &simulate.Faulty{Page: func() []byte { return page }, TrickleEvery: time.Millisecond}
	srv := httptest.NewServer(faulty)
	defer srv.Close()
	// The body is read and closed here; the response is returned for its headers.
	quick := func(fault simulate.Fault) (*http.Response, []byte, error) {
		faulty.Set(fault)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL+"/metrics", http.NoBody)
		require.NoError(t, err)
		c := client(t)
		c.Timeout = 10 * time.Second
		switch fault {
		case simulate.FaultHang, simulate.FaultHangBody, simulate.FaultTrickle, simulate.FaultEndless:
			c.Timeout = 150 * time.Millisecond
		default:
		}
		resp, err := c.Do(req)
		if err != nil {
			return nil, nil, err
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
		return resp, body, err
	}
	resp, body, err := quick(simulate.FaultNone) //nolint:bodyclose // Closed by quick.
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.Equal(t, page, body)
	for _, fault := range simulate.Faults() {
		t.Run(string(fault), func(t *testing.T) {
			resp, body, err := quick(fault) //nolint:bodyclose // Closed by quick.
			clean := err == nil && resp.StatusCode == http.StatusOK && bytes.Equal(body, page) &&
				resp.Header.Get("Content-Type") == "text/plain; charset=utf-8"
			require.False(t, clean, "the answer must show the fault")
			switch fault {
			case simulate.FaultTruncated, simulate.FaultResetBody:
				require.Error(t, err)
			case simulate.FaultHeaders:
				require.Greater(t, len(resp.Header), 250)
			case simulate.FaultHang, simulate.FaultReset:
				require.Nil(t, resp)
			case simulate.Fault500:
				require.Equal(t, 500, resp.StatusCode)
			case simulate.FaultEmpty:
				require.Empty(t, body)
				require.Equal(t, 200, resp.StatusCode)
			case simulate.FaultRedirect:
				require.Equal(t, 302, resp.StatusCode)
			case simulate.FaultGzipBomb, simulate.FaultBadGzip:
				require.Equal(t, "gzip", resp.Header.Get("Content-Encoding"))
			default:
			}
		})
	}
	require.Equal(t, len(simulate.Faults())+1, faulty.Hits())
}

func splitPort(addr string) (host string, port int, err error) {
	for i := len(addr) - 1; i >= 0; i-- {
		if addr[i] == ':' {
			return addr[:i], port, nil
		}
		digit := int(addr[i] - '0')
		for range len(addr) - 1 - i {
			digit *= 10
		}
		port += digit
	}
	return "", 0, errors.New("no port")
}
