package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/alerts"
	"github.com/trtllm-exporter/trtllm_exporter/collector/snapshot"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// replicaPage returns the page of a replica.
func replicaPage(t *testing.T, tg *target.Target, status target.Status) string {
	t.Helper()
	f := newFleet(t)
	slot, err := f.store.Add(tg)
	require.NoError(t, err)
	slot.Publish(snapshot.Snapshot{Status: status})
	w := get(handler(t, f.options()), "/replica?target="+tg.Key())
	require.Equal(t, http.StatusOK, w.Code)
	return w.Body.String()
}

func TestUnknownReplicaIsNotFound(t *testing.T) {
	f := newFleet(t)
	f.publish("a", "r0", serving(), nil)
	h := handler(t, f.options())
	for _, path := range []string{
		"/replica", "/replica?target=", "/replica?target=a", "/replica?target=a/r1",
		"/replica?target=%3Cscript%3E",
	} {
		w := get(h, path)
		require.Equal(t, http.StatusNotFound, w.Code, path)
		require.Equal(t, "text/plain; charset=utf-8", w.Header().Get("Content-Type"), path)
	}
}

func TestReplicaPageHasWholeError(t *testing.T) {
	message := strings.Repeat("a very long error ", 200) + "and its end"
	s := unreachable("10.0.0.1:8002")
	s.LastError, s.StateReason = message, message
	f := newFleet(t)
	f.publish("a", "r0", s, nil)
	h := handler(t, f.options())

	require.Contains(t, get(h, "/replica?target=a/r0").Body.String(), "<b>connect</b> <code>"+message+"</code>")
	require.NotContains(t, get(h, "/").Body.String(), "and its end", "the fleet has its front only")
}

func TestLabelSources(t *testing.T) {
	known := target.Status{
		Assessment: target.Assessment{State: "ready", Severity: "ok"}, Server: target.Server{
			DetectedEngine: "triton",
			EngineVersion:  "2.64.0",
			TRTLLMVersion:  "1.1.0",
			VersionSource:  "model_parameter",
		},
		Models: []target.Model{
			{Name: "tensorrt_llm", ModelID: "llama"},
			{Name: "ensemble", ModelID: "llama"},
			{Name: "x", ModelID: "mixtral"},
		},
	}
	for _, c := range []struct {
		target target.Target
		status target.Status
		want   []string
	}{
		{
			target.Target{
				Engine:        "dynamo",
				ReplicaID:     "r0",
				EngineVersion: "2.64.0",
				Labels:        map[string]string{"zone": "eu", "gpu": "h100"},
			},
			known,
			[]string{
				"engine dynamo engine of the pool, or label engine of the target; its page is that of triton",
				"engine_version 2.64.0 engine_version of the pool, or label of the target",
				"trtllm_version 1.1.0 parameter of a model's configuration",
				"model_id llama, mixtral models of the server",
				"gpu h100 label of the target, from discovery or relabel_configs zone eu label of the target",
			},
		},
		{
			target.Target{Engine: "auto", ReplicaID: "10.0.0.1:8002", MetricsURL: "http://10.0.0.1:8002/metrics"},
			target.Status{Server: target.Server{
				EngineVersion: "unknown",
				TRTLLMVersion: "unknown",
				VersionSource: "unknown",
			}},
			[]string{
				"replica_id 10.0.0.1:8002 address of the target, as it has no other name",
				"engine unknown the server has not been recognised yet",
				"engine_version unknown the server's API does not report it: set engine_version",
				"trtllm_version unknown no source reports it: set trtllm_version",
			},
		},
	} {
		c.target.PoolID = "a"
		text := plainText(
			strings.NewReplacer("<td>", " ", "<br>", " ", "&#39;", "'").Replace(replicaPage(t, &c.target, c.status)),
		)
		for _, want := range c.want {
			require.Contains(t, text, want)
		}
	}
}

func TestFirstChecksNameReplica(t *testing.T) {
	f := newFleet(t)
	f.publish("llama", "r1", failing(), nil)
	f.publish("llama", "$(reboot)", failing(), nil)
	h := handler(t, f.options())
	steps := func(replica string) string {
		page := get(h, "/replica?target="+url.QueryEscape("llama/"+replica)).Body.String()
		return part(t, page, `<details id="steps" open>`, "</details>")
	}
	require.Contains(t, steps("r1"), "http://192.0.2.1:9802/metrics?target=llama/r1")
	require.NotContains(t, steps("r1"), "/replica?target=llama/r1", "that is this page")
	require.NotContains(t, steps("r1"), "kubectl", "it is not a pod")
	require.NotRegexp(t, "POOL_ID|REPLICA_|EXPORTER", steps("r1"))
	require.NotContains(t, steps("$(reboot)"), "$(", "a name runs nothing in a shell")

	slot := f.slots["llama/r1"]
	pod := *slot.Target()
	pod.Pod = true
	slot.SetTarget(&pod)
	require.Contains(t, steps("r1"), "kubectl logs r1")

	for _, entry := range alerts.Runbook() {
		f.publish("llama", "r2", verdict("down", "broken", entry.Name, "it is down"), nil)
		require.NotRegexp(t, `kubectl|\?[.;]|\(\)|[:,] ?[.;]`, steps("r2"), entry.Name)
	}
}

func TestCommandsAreSafeAndHaveNoSecrets(t *testing.T) {
	for _, c := range []struct {
		name, url, page, want string
	}{
		{
			"the detected page", "http://gpu:8002", "http://gpu:8002/metrics",
			"The same page curl -sS --max-time 4 'http://gpu:8002/metrics'",
		},
		{
			"with a password", "http://user:hunter2@gpu:8002/metrics?token=hunter2", "",
			"The same page (without the user or the query that the configuration adds) curl -sS --max-time 4 " +
				"'http://gpu:8002/metrics'",
		},
		{"with a quote", "http://gpu:8002/a';reboot;'", "", `'http://gpu:8002/a'\'';reboot;'\'''`},
	} {
		t.Run(c.name, func(t *testing.T) {
			page := replicaPage(t, &target.Target{
				PoolID:     "a",
				ReplicaID:  "r0",
				Engine:     "auto",
				MetricsURL: c.url,
				Timeout:    4e9,
			}, target.Status{Scraping: target.Scraping{PageURL: c.page}})
			text := strings.ReplaceAll(plainText(strings.ReplaceAll(page, "<br>", " ")), "&#39;", "'")
			require.Contains(t, text, c.want)
			require.NotContains(t, page, "hunter2")
			require.Contains(t, text, "trtllm_exporter doctor 'http://gpu:8002/")
		})
	}
	silent := replicaPage(t, &target.Target{
		PoolID:     "a",
		ReplicaID:  "r0",
		Silent:     true,
		MetricsURL: "http://gpu:8002",
	}, target.Status{Assessment: target.Assessment{State: "ready", Severity: "ok"}})
	require.NotContains(t, silent, "curl")
	require.Contains(t, silent, "never: it binds no port")
}

// The runbook begins with links to its sections, and its commands can be copied and name this exporter.
func TestRunbookHasContentsAndCommands(t *testing.T) {
	page := get(handler(t, newFleet(t).options()), "/runbook").Body.String()
	contents := part(t, page, `<nav class="contents card" aria-label="Alerts">`, "</nav>")
	for _, entry := range alerts.Runbook() {
		require.Contains(t, contents, `<a href="#`+entry.Anchor()+`">`+entry.Name+"</a>")
		require.Contains(t, page, `<article id="`+entry.Anchor()+`">`)
	}
	require.Contains(t, contents, "<b>Availability</b>")
	require.NotContains(t, page, "EXPORTER:9802")
	require.Contains(t, page, `<code class="command">kubectl get nodes</code> <button class="copy"`)
	require.Contains(t, page, `<a href="http://192.0.2.1:9802/targets?dropped"><code>`)
	require.NotContains(t, page, `href="http://192.0.2.1:9802/replica?target=POOL_ID`, "nothing has that name")
}
