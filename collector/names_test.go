package collector_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
)

// Ports of a pod by what listens there, as addresses of tests.
const (
	workerPort = "10.0.0.1:9090"
	kvbmPort   = "10.0.0.1:6880"
	nixlPort   = "10.0.0.1:19090"
	otherPort  = "10.0.0.1:7070"
	closedPort = "10.0.0.1:1111"
	latePort   = "10.0.0.1:2222"
	endsPort   = "10.0.0.1:3333"
	secondPort = "10.0.0.2:9090"
	frontPort  = "10.0.0.1:8000"
	dynamoPort = "10.0.0.1:8081"
)

// portsOfPod answers like the ports above: a server that starts after a minute is at latePort, one
// that ends after a minute at endsPort.
func portsOfPod(start time.Time) *fakeScraper {
	refused := &scrape.Error{Reason: scrape.ReasonConnect, Err: errRefused}
	late := func() bool { return time.Since(start) > time.Minute }
	pages := map[string]string{
		kvbmPort:   "kvbm_matched_tokens 1\n",
		nixlPort:   "agent_xfer_time 1\n",
		otherPort:  "process_open_fds 1\n",
		workerPort: tritonPage,
		secondPort: tritonPage,
		latePort:   tritonPage,
		endsPort:   tritonPage,
		frontPort:  "dynamo_frontend_requests_total{error_type=\"\",model=\"m\",status=\"success\"} 3\n",
		dynamoPort: "dynamo_component_requests_total{dynamo_component=\"backend\",dynamo_endpoint=\"generate\"} 3\n",
	}
	return &fakeScraper{page: func(page string) (string, error) {
		u, _ := url.Parse(page)
		text, ok := pages[u.Host]
		if !ok || u.Host == latePort && !late() || u.Host == endsPort && late() {
			return "", refused
		}
		return text, nil
	}}
}

// TestNameBelongsToServerOfPod gives all ports of a pod the name of the pod, as discovery does.
func TestNameBelongsToServerOfPod(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		ports []string
		// early and late are the states of the replica named pod after half a minute and after two.
		early, late string
		// holder is the port that has the name in the end, refused how many have none.
		holder  string
		refused int
	}{
		{"the worker is read first", []string{workerPort, nixlPort, kvbmPort}, "ready", "ready", workerPort, 0},
		{"the worker is read last", []string{nixlPort, kvbmPort, workerPort}, "ready", "ready", workerPort, 0},
		{"the worker is read in the middle", []string{kvbmPort, workerPort, nixlPort}, "ready", "ready", workerPort, 0},
		{"a companion's port is closed", []string{closedPort, kvbmPort, workerPort}, "ready", "ready", workerPort, 0},
		{"a program that nobody knows is read first", []string{otherPort, workerPort}, "ready", "ready", workerPort, 0},
		{"the worker loads while its companion answers", []string{kvbmPort, latePort}, "unknown", "ready", latePort, 0},
		{"the worker loads while a stranger answers", []string{otherPort, latePort}, "unknown", "ready", latePort, 0},
		{"the worker ends, and its companion stays", []string{kvbmPort, endsPort}, "ready", "down", endsPort, 0},
		{"only companions", []string{kvbmPort, nixlPort}, "silent", "silent", kvbmPort, 0},
		{"two servers of one name", []string{workerPort, secondPort}, "ready", "ready", workerPort, 1},
		{"a second server comes later", []string{latePort, workerPort}, "ready", "ready", workerPort, 1},
		{"a second server comes while the first is down", []string{latePort, endsPort}, "ready", "down", endsPort, 1},
		{"one address was found twice", []string{workerPort, workerPort}, "ready", "ready", workerPort, 0},
		{
			"one address was found twice, beside its companion",
			[]string{kvbmPort, workerPort, kvbmPort, workerPort},
			"ready", "ready", workerPort, 0,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var targets []string
				for _, port := range c.ports {
					targets = append(targets, "pod="+port)
				}
				tc := startWithScraper(t, portsOfPod(time.Now()), everySeconds("p", 5, targets...))
				time.Sleep(30 * time.Second)
				require.Equal(t, c.early, tc.status("pod").State)
				time.Sleep(90 * time.Second)
				require.Equal(t, c.late, tc.status("pod").State, tc.status("pod").StateReason)
				require.Equal(t, "http://"+c.holder+"/metrics", tc.store.Slot("p/pod").Target().MetricsURL)
				require.Contains(
					t, tc.ownMetrics(), fmt.Sprintf(`trtllm_exporter_targets_refused{pool_id="p"} %d`, c.refused),
				)
				for _, slot := range tc.store.Slots() {
					if slot.Target().ReplicaID != "pod" {
						require.Equal(
							t, "silent", slot.Status().State, "%s counts as no replica", slot.Target().ReplicaID,
						)
					}
				}
			})
		})
	}
}

// TestTargetOfOneNameAtAnotherHostIsJudged has targets of two hosts with one name, as of a rule that names replicas
// after their node: neither is a port of the other, so that what never answered is not fine.
func TestTargetOfOneNameAtAnotherHostIsJudged(t *testing.T) {
	t.Parallel()
	const silentPort, otherHostsPort = "10.0.0.2:1111", "10.0.0.2:7070"
	for _, c := range []struct {
		name    string
		targets []string
		// other is the name of the target that does not have the name, state what it is.
		other, state string
	}{
		{"the other one does not answer", []string{workerPort, silentPort}, "pod:" + silentPort, "unknown"},
		{"none answers", []string{closedPort, silentPort}, "pod:" + silentPort, "unknown"},
		{"the first one does not answer", []string{silentPort, workerPort}, "pod:" + silentPort, "unknown"},
		{"what does not answer has the name before a stranger", []string{otherPort, silentPort}, "pod", "unknown"},
		{"the other one is no server", []string{workerPort, otherHostsPort}, "pod:" + otherHostsPort, "silent"},
		{"it is another port of the same host", []string{workerPort, closedPort}, "pod:1111", "silent"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := portsOfPod(time.Now())
				pages := p.page
				p.page = func(page string) (string, error) {
					if strings.Contains(page, otherHostsPort) {
						return "process_open_fds 1\n", nil
					}
					return pages(page)
				}
				var targets []string
				for _, address := range c.targets {
					targets = append(targets, "pod="+address)
				}
				tc := startWithScraper(t, p, everySeconds("p", 5, targets...))
				time.Sleep(30 * time.Second)
				require.Equal(t, c.state, tc.status(c.other).State, tc.status(c.other).StateReason)
			})
		})
	}
}

// TestRouterAndWorkerOfPod has a worker and its frontend in one pod: neither is lost, and both are judged.
func TestRouterAndWorkerOfPod(t *testing.T) {
	t.Parallel()
	for _, ports := range [][]string{{dynamoPort, frontPort}, {frontPort, dynamoPort}, {kvbmPort, frontPort, dynamoPort}} {
		t.Run(strings.Join(ports, " "), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var targets []string
				for _, port := range ports {
					targets = append(targets, "pod="+port)
				}
				tc := startWithScraper(t, portsOfPod(time.Now()), everySeconds("p", 5, targets...))
				time.Sleep(time.Minute)
				ready := make(map[string]bool)
				for _, slot := range tc.store.Slots() {
					if slot.Status().State == "ready" {
						ready[slot.Target().MetricsURL] = true
					}
				}
				require.Equal(t, map[string]bool{
					"http://" + frontPort + "/metrics":  true,
					"http://" + dynamoPort + "/metrics": true,
				}, ready)
				require.Contains(t, tc.ownMetrics(), `trtllm_exporter_targets_refused{pool_id="p"} 0`)
			})
		})
	}
}

// TestNameDoesNotDependOnWhoAnswersFirst has one port of a pod answer three seconds after the other. Until both
// have answered, nothing is shown of the pod.
func TestNameDoesNotDependOnWhoAnswersFirst(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		ports []string
		// slow is the port that answers late, has the one that has the name in the end.
		slow, has string
		refused   int
		// never matches what is on no page, end what is on the last one.
		never, end string
	}{
		{
			name:  "the server is slow, its companion is not",
			ports: []string{kvbmPort, workerPort}, slow: workerPort, has: workerPort,
			never: `kvbm_matched_tokens{.*replica_id="pod"`, end: `nv_inference_request_success{.*replica_id="pod"`,
		},
		{
			name:  "the companion is slow",
			ports: []string{kvbmPort, workerPort}, slow: kvbmPort, has: workerPort,
			never: `nv_inference_request_success{.*replica_id="pod:`, end: `kvbm_matched_tokens{.*replica_id="pod:6880"`,
		},
		{
			name:  "the first of two servers is slow",
			ports: []string{workerPort, secondPort}, slow: workerPort, has: workerPort, refused: 1,
			never: `pod:9090`, end: `replica_id="pod"`,
		},
		{
			name:  "the second of two servers is slow",
			ports: []string{workerPort, secondPort}, slow: secondPort, has: workerPort, refused: 1,
			never: `pod:9090`, end: `replica_id="pod"`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := portsOfPod(time.Now())
				p.duration = func(page string, n int) time.Duration {
					if u, _ := url.Parse(page); u.Host == c.slow && n == 1 {
						return 3 * time.Second
					}
					return 0
				}
				tc := startWithScraper(t, p, everySeconds("p", 5, "pod="+c.ports[0], "pod="+c.ports[1]))
				for range 20 {
					require.NotRegexp(t, c.never, tc.page())
					time.Sleep(500 * time.Millisecond)
				}
				require.Regexp(t, c.end, tc.page())
				require.Equal(t, "http://"+c.has+"/metrics", tc.store.Slot("p/pod").Target().MetricsURL)
				require.Contains(
					t, tc.ownMetrics(), fmt.Sprintf(`trtllm_exporter_targets_refused{pool_id="p"} %d`, c.refused),
				)
			})
		})
	}
}

// TestSeriesOfCompanionPassBesideServer reads the page of a pod whose programs have families of
// one name: each series is there once, and none of a companion has the name of the server.
func TestSeriesOfCompanionPassBesideServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := portsOfPod(time.Now())
		pages := p.page
		p.page = func(page string) (string, error) {
			text, err := pages(page)
			return text + "process_resident_memory_bytes 1\n", err
		}
		tc := startWithScraper(t, p, everySeconds("p", 5, "pod="+kvbmPort, "pod="+workerPort))
		time.Sleep(30 * time.Second)
		page := tc.page()
		for name, series := range map[string]string{
			"pod:6880": "kvbm_matched_tokens", "pod": "nv_inference_request_success",
		} {
			require.Regexp(t, series+`\{.*replica_id="`+name+`"`, page)
			require.Regexp(t, `process_resident_memory_bytes\{.*replica_id="`+name+`"`, page)
		}
		require.NotRegexp(t, `llm_server_state\{.*replica_id="pod:6880"`, page)
		require.NotRegexp(t, `kvbm_matched_tokens\{.*replica_id="pod"`, page)
		seen := map[string]bool{}
		for line := range strings.Lines(page) {
			series := line[:strings.LastIndexByte(line, ' ')+1]
			require.False(t, seen[series] && !strings.HasPrefix(line, "#"), line)
			seen[series] = true
		}
	})
}

// TestRefusedServerTakesNameOfOneThatIsGone removes the first of two servers with one name.
func TestRefusedServerTakesNameOfOneThatIsGone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tc := startWithScraper(t, portsOfPod(time.Now()), everySeconds("p", 5, "pod="+workerPort, "pod="+secondPort))
		time.Sleep(30 * time.Second)
		require.Contains(t, tc.ownMetrics(), `trtllm_exporter_targets_refused{pool_id="p"} 1`)
		tc.apply(everySeconds("p", 5, "pod="+secondPort))
		time.Sleep(30 * time.Second)
		require.Equal(t, "ready", tc.status("pod").State)
		require.Contains(t, tc.ownMetrics(), `trtllm_exporter_targets_refused{pool_id="p"} 0`)
		require.Len(t, tc.store.Slots(), 1)
	})
}

// TestScrapeOnceReadsAllPortsOfPod scrapes once, as doctor does: each port is judged for itself.
func TestScrapeOnceReadsAllPortsOfPod(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tc := newCollector(t)
		tc.UseScraper(portsOfPod(time.Now()))
		tc.apply(everySeconds("p", 5, "pod="+kvbmPort, "pod="+workerPort))
		_, err := tc.ScrapeOnce(t.Context(), time.Second)
		require.NoError(t, err)
		require.Equal(t, "silent", tc.status("pod").State)
		require.Equal(t, "ready", tc.status("pod:9090").State)
	})
}

// TestReloadLeavesNamesAsTheyAre reloads while a companion is read first.
func TestReloadLeavesNamesAsTheyAre(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := portsOfPod(time.Now())
		tc := startWithScraper(t, p, everySeconds("p", 5, "pod="+kvbmPort, "pod="+workerPort))
		time.Sleep(30 * time.Second)
		n := len(p.times("http://" + workerPort + "/metrics"))
		tc.apply(everySeconds("p", 5, "pod="+kvbmPort, "pod="+workerPort, "pod="+nixlPort))
		for range 60 {
			time.Sleep(time.Second)
			require.Equal(t, "ready", tc.status("pod").State)
		}
		require.Len(t, tc.store.Slots(), 3)
		require.InDelta(t, n+12, len(p.times("http://"+workerPort+"/metrics")), 1, "one loop goes on")
	})
}
