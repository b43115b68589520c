package simulate_test

import (
	"bytes"
	"context"
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
	t.Parallel()
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

func TestTheMixedFleetHasOnePoolOfSeveralKinds(t *testing.T) {
	t.Parallel()
	plain, mixed := simulate.DemoFleet(1), simulate.MixedFleet(1)
	require.Len(t, mixed.Pools, len(plain.Pools)+1)
	require.Equal(t, plain.Pools[1].Name, mixed.Pools[1].Name)
	kinds := map[simulate.Kind]bool{}
	for _, spec := range mixed.Pools[2].Replicas {
		r := newReplica(t, spec)
		r.Advance(time.Minute)
		require.Greater(t, r.Truth().Finished, uint64(50), spec.Name)
		kinds[spec.Kind] = true
	}
	require.Len(t, kinds, 5)
}

func TestDemoReplicasQueueInBurstsAndRecover(t *testing.T) {
	t.Parallel()
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
	t.Parallel()
	first := listening(t, simulate.Spec{Kind: simulate.KindServe})
	_, port, err := splitPort(first.APIAddr())
	require.NoError(t, err)
	second := newReplica(t, simulate.Spec{Kind: simulate.KindServe, Ports: simulate.Ports{APIPort: port}})
	err = second.Listen(t.Context())
	if err == nil {
		second.Close()
	}
	require.Error(t, err)
	require.Error(t, first.Listen(t.Context()), "a replica listens once")
}

func TestTheAPIAnswersWithoutASocket(t *testing.T) {
	t.Parallel()
	r := newReplica(t, simulate.Spec{})
	answer := httptest.NewRecorder()
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
	const (
		part   = -1 // Of a body that begins as the page does.
		either = -1 // 200, or none if the reset is faster.
	)
	for _, c := range []struct {
		fault  simulate.Fault
		status int // 0 for no answer.
		length int
		broken bool
		slow   bool
		header [2]string
	}{
		{fault: "", status: 200, length: len(page), header: [2]string{"Content-Type", "text/plain; charset=utf-8"}},
		{fault: simulate.FaultHang, broken: true, slow: true},
		{fault: simulate.FaultHangBody, status: 200, length: len(page) / 2, broken: true, slow: true},
		{fault: simulate.FaultTrickle, status: 200, length: part, broken: true, slow: true},
		{fault: simulate.FaultReset, broken: true},
		{fault: simulate.FaultResetBody, status: either, length: part, broken: true},
		{fault: simulate.FaultTruncated, status: 200, length: len(page) / 2, broken: true},
		{fault: simulate.FaultCut, status: 200, length: len(page) - 7},
		{fault: simulate.FaultHTML, status: 200, length: 100, header: [2]string{"Content-Type", "text/html; charset=utf-8"}},
		{fault: simulate.FaultJSON, status: 200, length: 22, header: [2]string{"Content-Type", "application/json"}},
		{fault: simulate.Fault500, status: 500, length: 15},
		{fault: simulate.Fault503, status: 503, length: 9, header: [2]string{"Retry-After", "5"}},
		{fault: simulate.Fault404, status: 404, length: 19},
		{fault: simulate.Fault401, status: 401, length: 13, header: [2]string{"WWW-Authenticate", `Basic realm="metrics"`}},
		{fault: simulate.FaultEmpty, status: 200, length: 0},
		{fault: simulate.FaultGzipBomb, status: 200, length: 1 << 20, header: [2]string{"Content-Encoding", "gzip"}},
		{fault: simulate.FaultBadGzip, status: 200, length: 23, header: [2]string{"Content-Encoding", "gzip"}},
		{fault: simulate.FaultRedirect, status: 302, length: 0, header: [2]string{"Location", "/metrics"}},
		{fault: simulate.FaultLongLine, status: 200, length: 1 << 20},
		{fault: simulate.FaultBinary, status: 200, length: 4096},
		{fault: simulate.FaultBadLine, status: 200, length: len(page) + 23},
		{fault: simulate.FaultDuplicate, status: 200, length: len(page) + len("nv_inference_request_success{model=\"tensorrt_llm\",version=\"1\"} 125\n")},
		{fault: simulate.FaultBadUTF8, status: 200, length: len(page) + 24},
		{fault: simulate.FaultContentType, status: 200, length: len(page), header: [2]string{"Content-Type", "application/octet-stream"}},
	} {
		t.Run(string(c.fault), func(t *testing.T) {
			faulty.Set(c.fault)
			sure := c.length
			if c.length == part {
				sure = 1
			}
			status, header, body, err := firstMiB(t, srv.URL, c.slow, sure)
			require.Equal(t, c.broken, err != nil, "%v", err)
			if c.status != either {
				require.Equal(t, c.status, status)
			}
			if c.length == part {
				begins := bytes.HasPrefix(page, body)
				require.True(t, begins, "it begins as the page does")
			} else {
				require.Equal(t, c.length, len(body)) //nolint:testifylint // Len would print the page.
			}
			if c.header[0] != "" {
				require.Equal(t, c.header[1], header.Get(c.header[0]))
			}
		})
	}
}

// firstMiB asks for a page and reads the first of it. From an answer that does not
// end it reads as much as is sure to come, and then leaves.
func firstMiB(t *testing.T, url string, slow bool, sure int) (status int, header http.Header, body []byte, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if slow && sure == 0 {
		time.AfterFunc(50*time.Millisecond, cancel)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/metrics", http.NoBody)
	require.NoError(t, err)
	resp, err := client(t).Do(req)
	if err != nil {
		return 0, nil, nil, err
	}
	defer resp.Body.Close()
	body = make([]byte, sure)
	if n, err := io.ReadFull(resp.Body, body); err != nil {
		return resp.StatusCode, resp.Header, body[:n], err
	}
	if slow {
		time.AfterFunc(50*time.Millisecond, cancel)
	}
	rest, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20-int64(sure)))
	return resp.StatusCode, resp.Header, append(body, rest...), err
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
