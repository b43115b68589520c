package web_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/snapshot"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
	"github.com/trtllm-exporter/trtllm_exporter/collector/web"
)

// unread returns the status of a replica whose page cannot be read, as judged before.
func unread(ready, judged bool) target.Status {
	s := verdict("blind", "look", "", "the API answers, but the page does not")
	s.LastReason, s.Judged, s.ProbeReady = "http_status", judged, ready
	return s
}

func TestProbesFollowVerdict(t *testing.T) {
	const ok, fails = http.StatusOK, http.StatusServiceUnavailable
	look := func(state, reason string) target.Status { return verdict(state, "look", "", reason) }
	for _, c := range []struct {
		name        string
		status      func() target.Status
		ready, live int
		text        string
	}{
		{"a serving replica", serving, ok, ok, "Ready: The API answers 200."},
		{"every request fails", failing, fails, ok, "Not ready: Requests only fail, whatever the API says."},
		{"a stalled replica", stalled, fails, fails, "Not ready: Requests are in flight and no iteration happens."},
		{
			"streams that never end", canaryFailing, fails, ok,
			"Not ready: The API answers 200; the canary request failed (never_ended)",
		},
		{
			"not ready according to its API",
			func() target.Status { return verdict("not_ready", "broken", "", "the API answers 503") },
			fails, ok, "Not ready: The API answers 503.",
		},
		{
			"loading models",
			func() target.Status { return look("starting", "nothing listens yet") },
			fails, ok, "Not ready: Nothing listens yet.",
		},
		{
			"a stopping server",
			func() target.Status { return look("draining", "the server is ending") },
			fails, ok, "Not ready: The server is ending.",
		},
		{
			"another version than expected", mismatching, ok, ok,
			"Ready: The API answers 200; it is not what its pool expects",
		},
		{
			"an unreadable page",
			func() target.Status { return unread(true, true) },
			ok, ok, "Ready: The API answers, but the page does not.",
		},
		{
			"an unreadable page of a replica that did not serve",
			func() target.Status { return unread(false, true) },
			fails, ok,
			"Not ready: The API answers, but the page does not.",
		},
		{
			"a page that was never read",
			func() target.Status { return unread(false, false) },
			ok, ok,
			"Not judged: its page was never read (http_status), which says little about its requests.",
		},
		{"not tried yet", func() target.Status { return target.Status{} }, ok, ok, "Not judged: it was not tried yet."},
		{
			"nothing listens any more",
			func() target.Status { return unreachable("10.0.0.1:8002") },
			fails, ok, "Not ready: Get \"http",
		},
		{"an exporter that stopped scraping", func() target.Status {
			s := failing()
			s.LastScrape = s.LastScrape.Add(-time.Minute)
			return s
		}, fails, ok, "Not ready: Requests only fail, whatever the API says. This was judged at the last " +
			"scrape, 1 min ago."},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(t)
				f.publish("llama", "r0", c.status(), nil)
				h := handler(t, f.options())

				ready := get(h, "/-/replicas/llama/r0/ready")
				live := get(h, "/-/replicas/llama/r0/live")

				require.Equal(t, c.ready, ready.Code, ready.Body.String())
				require.Equal(t, c.live, live.Code, live.Body.String())
				require.True(t, strings.HasPrefix(ready.Body.String(), c.text), "%q begins with %q", ready.Body.String(), c.text)
				require.Equal(t, "no-store", ready.Header().Get("Cache-Control"))
				require.Equal(
					t,
					ready.Body.String(),
					get(h, "/-/replica/ready").Body.String(),
					"the only one needs no name",
				)
			})
		})
	}
}

func TestRankWithoutPortIsReady(t *testing.T) {
	f := newFleet(t)
	slot, err := f.store.Add(&target.Target{PoolID: "a", ReplicaID: "rank 1/2", Silent: true})
	require.NoError(t, err)
	slot.Publish(snapshot.Snapshot{Status: target.Status{Assessment: target.Assessment{
		State:       "silent",
		Severity:    "ok",
		StateReason: "this rank binds no port",
		Judged:      true,
		ProbeReady:  true,
		ProbeLive:   true,
	}}})

	w := get(handler(t, f.options()), "/-/replicas/a/rank%201%2F2/ready")

	require.Equal(t, http.StatusOK, w.Code)
	require.Equal(t, "Ready: This rank binds no port.\n", w.Body.String())
}

// TestHostNamesReplica is about load balancers that probe all servers of a
// pool at one path.
func TestHostNamesReplica(t *testing.T) {
	f := newFleet(t)
	f.publish("llama 70b", "r0", serving(), nil)
	f.publish("llama 70b", "r1", stalled(), nil)
	f.publish("llama 70b", "10.0.0.1:8002", failing(), nil)
	h := handler(t, f.options())
	for _, c := range []struct {
		host, question string
		want           int
	}{
		{"r0", "ready", http.StatusOK},
		{"r0:9802", "ready", http.StatusOK},
		{"r1", "ready", http.StatusServiceUnavailable},
		{"r1:9802", "live", http.StatusServiceUnavailable},
		{"10.0.0.1:8002", "ready", http.StatusServiceUnavailable},
		{"r2", "ready", http.StatusNotFound},
		{"", "ready", http.StatusNotFound},
	} {
		r := httptest.NewRequest(http.MethodGet, "/-/replicas/llama%2070b/"+c.question, http.NoBody)
		r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, arrivedAt))
		r.Host = c.host
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		require.Equal(t, c.want, w.Code, "%s: %s", c.host, w.Body.String())
	}
}

func TestProbesOfUnknownReplicas(t *testing.T) {
	f := newFleet(t)
	f.publish("a", "r0", serving(), nil)
	f.publish("a", "r1", serving(), nil)
	const usage = "The path is /-/replicas/POOL/REPLICA/ready or /-/replicas/POOL/REPLICA/live; without REPLICA " +
		"the host names it"
	paths := map[string]string{
		"/-/replicas/a/r2/ready":   `No replica is named "a/r2"; / lists them`,
		"/-/replicas/a/r2/live":    `No replica is named "a/r2"; / lists them`,
		"/-/replicas/a/r0":         usage,
		"/-/replicas/a/b/r0/ready": usage,
		"/-/replicas/a/ready":      `No replica is named "a/exporter.example:9802 or exporter.example"; / lists them`,
		"/-/replicas/a/r0/healthy": "The path must end in /ready or /live",
		"/-/replica/ready": "/-/replica/ is for an exporter of one replica, this one has 2: ask " +
			"/-/replicas/POOL/REPLICA/ready",
	}
	for _, unjudged := range []web.Unjudged{web.UnjudgedServer, web.UnjudgedReady, web.UnjudgedUnready} {
		opts := f.options()
		known := false
		opts.Unjudged, opts.Ready = unjudged, func() bool { return known }
		h := handler(t, opts)
		for path := range paths {
			w, want := get(h, path), http.StatusOK // An exporter that has just started does not judge a replica.
			if unjudged == web.UnjudgedUnready && !strings.HasSuffix(path, "/live") {
				want = http.StatusServiceUnavailable
			}
			require.Equal(t, want, w.Code, path)
			require.Equal(t, "Not judged: not every target was tried yet.\n", w.Body.String())
		}
		known = true
		for path, want := range paths {
			w := get(h, path)
			require.Equal(t, http.StatusNotFound, w.Code, path)
			require.Equal(t, want+"\n", w.Body.String())
		}
		require.Equal(t, http.StatusMethodNotAllowed, ask(h, http.MethodPost, "/-/replicas/a/r0/ready").Code)
		count, err := testutil.GatherAndCount(opts.Registry, "trtllm_exporter_http_requests_total")
		require.NoError(t, err)
		require.LessOrEqual(t, count, 7, "paths of replicas have no separate series")
	}
}

// TestOnlyReplicaIsProbedBesideOtherPrograms has an exporter whose targets are a replica and other pages of its pod.
func TestOnlyReplicaIsProbedBesideOtherPrograms(t *testing.T) {
	companion := func() target.Status { return verdict("silent", "ok", "", "this is istio-proxy, not an LLM server") }
	for _, c := range []struct {
		name     string
		statuses []func() target.Status
		want     int
	}{
		{"a replica alone", []func() target.Status{serving}, http.StatusOK},
		{"a replica and two other programs", []func() target.Status{companion, serving, companion}, http.StatusOK},
		{"one that fails and another program", []func() target.Status{failing, companion}, http.StatusServiceUnavailable},
		{"two replicas", []func() target.Status{serving, serving}, http.StatusNotFound},
	} {
		f := newFleet(t)
		for i, status := range c.statuses {
			f.publish("a", string(rune('a'+i)), status(), nil)
		}
		opts := f.options()
		opts.Ready = func() bool { return true }
		require.Equal(t, c.want, get(handler(t, opts), "/-/replica/ready").Code, c.name)
	}
}
