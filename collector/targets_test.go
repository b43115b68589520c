package collector

import (
	"bytes"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/discovery/targetgroup"
	prometheus "github.com/prometheus/prometheus/model/relabel"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
	"github.com/trtllm-exporter/trtllm_exporter/relabel"
)

// targetsFound returns the targets of a pool for which discovery found these label sets.
func targetsFound(sets ...model.LabelSet) ([]*target.Target, target.PoolDiscovery) {
	p := config.DefaultPool
	p.PoolID = "llama"
	return targetsOf(
		&p, config.DefaultSharding, []*targetgroup.Group{{Source: "found", Targets: sets}},
		slog.New(slog.DiscardHandler),
	)
}

// Whatever a source finds costs only the target that it is about.
func TestTargetsBeyondLimits(t *testing.T) {
	t.Parallel()
	long := func(n int) model.LabelValue { return model.LabelValue(strings.Repeat("x", n)) }
	many := model.LabelSet{model.AddressLabel: "a:1"}
	for i := range 100_000 {
		many[model.LabelName(fmt.Sprintf("__meta_label_%d", i))] = "x"
	}
	doubling := &prometheus.Config{
		SourceLabels: model.LabelNames{"__meta_note"},
		Separator:    ";",
		Regex:        prometheus.MustNewRegexp("(.*)"),
		Replacement:  strings.Repeat("$1", 64),
		TargetLabel:  "note",
		Action:       prometheus.Replace,

		NameValidationScheme: model.UTF8Validation,
	}
	for _, c := range []struct {
		name string
		set  model.LabelSet
		want string
	}{
		{
			"a label over what Prometheus can hold",
			model.LabelSet{model.AddressLabel: "a:1", "__meta_x": long(17 << 20)},
			`target "a:1" has labels of`,
		},
		{
			"the name of a label",
			model.LabelSet{model.AddressLabel: "a:1", "__meta_" + model.LabelName(long(17<<20)): "x"},
			`target "a:1" has labels of`,
		},
		{"many labels", many, `target "a:1" has labels of`},
		{"an address", model.LabelSet{model.AddressLabel: long(17 << 20)}, `target "xxx`},
		{"an address that fits", model.LabelSet{model.AddressLabel: long(1 << 19)}, `target "xxx`},
		{"a label of all series", model.LabelSet{model.AddressLabel: "a:1", "rack": long(1 << 17)}, "after relabel_configs"},
		{"a name", model.LabelSet{model.AddressLabel: "a:1", "replica_id": long(1 << 17)}, "after relabel_configs"},
		{"a version", model.LabelSet{model.AddressLabel: "a:1", "engine_version": long(1 << 17)}, "after relabel_configs"},
		{
			"a label that rules multiply",
			model.LabelSet{model.AddressLabel: "a:1", "__meta_note": long(1 << 19)},
			"labels",
		},
		{
			"a wrong kind",
			model.LabelSet{model.AddressLabel: "a:1", "engine": long(1 << 19)},
			`target "a:1" has engine "xxx`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := config.DefaultPool
			p.PoolID = "llama"
			p.RelabelConfigs = relabel.Rules{doubling}
			var log bytes.Buffer
			all, search := targetsOf(
				&p, config.DefaultSharding,
				[]*targetgroup.Group{{Source: "found", Targets: []model.LabelSet{
					c.set, {model.AddressLabel: "b:1", "note": "x"},
				}}},
				slog.New(slog.NewTextHandler(&log, nil)),
			)
			require.Len(t, all, 1, "the other one stays")
			require.Equal(t, 1, search.LeftOut)
			require.Contains(t, search.Error, c.want)
			require.Less(t, len(search.Error), 1100)
			require.Less(t, log.Len(), 3000)
		})
	}
}

// A target keeps only the labels of discovery that it uses: a group, or a Kubernetes object, may have a megabyte of
// them. The test measures the heap, so no other test runs beside it.
func TestTargetsKeepNoHiddenLabels(t *testing.T) { //nolint:paralleltest // See above.
	const targets, size = 200, 1 << 19
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	group := &targetgroup.Group{
		Source: "found",
		Labels: model.LabelSet{"__meta_note": model.LabelValue(strings.Repeat("x", size)), "rack": "7"},
	}
	for i := range targets {
		group.Targets = append(group.Targets, model.LabelSet{
			model.AddressLabel: model.LabelValue(fmt.Sprintf("a:%d", i+1)), "replica_id": model.LabelValue(fmt.Sprintf("r%d", i)),
		})
	}
	p := config.DefaultPool
	p.PoolID = "llama"
	before := heap()
	all, search := targetsOf(
		&p, config.DefaultSharding, []*targetgroup.Group{group}, slog.New(slog.DiscardHandler),
	)
	require.Less(t, heap()-before, int64(targets*size/10))
	require.Len(t, all, targets)
	require.Zero(t, search.LeftOut)
	require.Equal(t, "7", all[0].Labels["rack"])
}

func TestTargetsBeyondNumber(t *testing.T) {
	t.Parallel()
	sets := make([]model.LabelSet, maxTargets+7)
	for i := range sets {
		sets[i] = model.LabelSet{model.AddressLabel: model.LabelValue(fmt.Sprintf("a:%d", i))}
	}
	p := config.DefaultPool
	p.PoolID = "llama"
	all, search := targetsOf(
		&p, config.DefaultSharding, []*targetgroup.Group{{Source: "found", Targets: sets}}, slog.New(slog.DiscardHandler),
	)
	require.LessOrEqual(t, len(all), maxTargets)
	require.GreaterOrEqual(t, search.LeftOut, 7)
	require.Equal(t, len(sets), len(all)+search.LeftOut)
}

func TestReplicaNameDefaultsToPod(t *testing.T) {
	t.Parallel()
	all, _ := targetsFound(
		model.LabelSet{model.AddressLabel: "10.2.0.7:8002", "__meta_kubernetes_pod_name": "triton-0"},
		model.LabelSet{
			model.AddressLabel: "10.2.0.8:8002", "__meta_kubernetes_pod_name": "triton-1", "replica_id": "named",
		},
		model.LabelSet{model.AddressLabel: "10.2.0.9:8002"},
		// The pods behind these are not known yet, and the last is not a pod.
		model.LabelSet{
			model.AddressLabel: "10.2.1.1:8002", "__meta_kubernetes_endpointslice_address_target_kind": "Pod",
			"__meta_kubernetes_endpointslice_address_target_name": "triton-2",
		},
		model.LabelSet{
			model.AddressLabel: "10.2.1.2:8002", "__meta_kubernetes_endpoint_address_target_kind": "Pod",
			"__meta_kubernetes_endpoint_address_target_name": "triton-3",
		},
		model.LabelSet{
			model.AddressLabel: "10.2.1.3:8002", "__meta_kubernetes_endpoint_address_target_kind": "Node",
			"__meta_kubernetes_endpoint_address_target_name": "gpu-1",
		},
	)
	var keys []string
	for _, t := range all {
		keys = append(keys, t.Key())
	}
	require.Equal(
		t,
		[]string{
			"llama/triton-0", "llama/named", "llama/10.2.0.9:8002", "llama/triton-2", "llama/triton-3",
			"llama/10.2.1.3:8002",
		},
		keys,
	)
}

// TestPodsThatEndedAreNoTargets uses pods as Kubernetes lists them.
func TestPodsThatEndedAreNoTargets(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		labels model.LabelSet
		kept   bool
	}{
		{"a pod that runs", model.LabelSet{"__meta_kubernetes_pod_phase": "Running"}, true},
		{"a pod that starts", model.LabelSet{"__meta_kubernetes_pod_phase": "Pending"}, true},
		{"a pod on a node that is lost", model.LabelSet{"__meta_kubernetes_pod_phase": "Unknown"}, true},
		{
			"a pod that is being deleted",
			model.LabelSet{"__meta_kubernetes_pod_phase": "Running", "__meta_kubernetes_pod_ready": "false"},
			true,
		},
		{
			"an endpoint that drains",
			model.LabelSet{
				"__meta_kubernetes_endpointslice_endpoint_conditions_terminating": "true",
				"__meta_kubernetes_pod_phase":                                     "Running",
			},
			true,
		},
		{
			"an endpoint whose pod is not known yet",
			model.LabelSet{"__meta_kubernetes_endpointslice_address_target_kind": "Pod"},
			true,
		},
		{"no pod at all", nil, true},
		{"an evicted pod", model.LabelSet{"__meta_kubernetes_pod_phase": "Failed"}, false},
		{"a pod of a job that is done", model.LabelSet{"__meta_kubernetes_pod_phase": "Succeeded"}, false},
		{
			"an evicted pod with a name of its own",
			model.LabelSet{"__meta_kubernetes_pod_phase": "Failed", "replica_id": "gpu-1"},
			false,
		},
		{
			"an endpoint whose pod has ended",
			model.LabelSet{
				"__meta_kubernetes_endpointslice_endpoint_conditions_ready": "true",
				"__meta_kubernetes_pod_phase":                               "Failed",
			},
			false,
		},
		{
			"an evicted pod without an address",
			model.LabelSet{model.AddressLabel: "", "__meta_kubernetes_pod_phase": "Failed"},
			false,
		},
	} {
		all, s := targetsFound(
			model.LabelSet{model.AddressLabel: "10.2.0.7:8002", "__meta_kubernetes_pod_name": "triton-0"}.Merge(
				c.labels,
			),
		)
		require.Equal(t, c.kept, len(all) == 1, c.name)
		require.Zero(t, s.LeftOut, c.name)
		if !c.kept {
			require.Equal(t, 1, s.Dropped, c.name)
			require.Contains(t, s.Drops[0].Rule, "the pod has ended", c.name)
		}
	}
}

// TestTargetWithoutPoolLabel uses empty labels, which rules create when they copy a
// missing label.
func TestTargetWithoutPoolLabel(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		set    model.LabelSet
		rules  relabel.Rules
		wanted string
	}{
		{"no label", nil, nil, "llama"},
		{"a label", model.LabelSet{"pool_id": "other"}, nil, "other"},
		{"an empty label", model.LabelSet{"pool_id": ""}, nil, "llama"},
		{"a rule that copies a missing label", nil, relabel.Rules{{
			SourceLabels:         model.LabelNames{"__meta_pool"},
			Regex:                prometheus.MustNewRegexp("(.*)"),
			TargetLabel:          "pool_id",
			Replacement:          "$1",
			Action:               prometheus.Replace,
			NameValidationScheme: model.UTF8Validation,
		}}, "llama"},
		{
			"a rule that drops the label", nil,
			relabel.Rules{{Regex: prometheus.MustNewRegexp("pool_id"), Action: prometheus.LabelDrop}},
			"llama",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := config.DefaultPool
			p.PoolID, p.RelabelConfigs = "llama", c.rules
			groups := []*targetgroup.Group{
				{Targets: []model.LabelSet{{model.AddressLabel: "10.2.0.7:8002"}}, Labels: c.set},
			}
			all, _ := targetsOf(&p, config.DefaultSharding, groups, slog.New(slog.DiscardHandler))
			require.Len(t, all, 1)
			require.Equal(t, c.wanted, all[0].PoolID)
		})
	}
}

func TestInvalidTargetIsDropped(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, failed string
		set          model.LabelSet
	}{
		{"one without an address", "has no __address__ after relabel_configs", model.LabelSet{"zone": "a"}},
		{
			"one with an invalid address", `target "a b" is not an address: it is not host:port; write it like`,
			model.LabelSet{model.AddressLabel: "a b"},
		},
		{
			"one with a scheme",
			`target "http://a:1/metrics" is not an address: it has a scheme and a path; write "a:1", scheme: http and metrics_path: /metrics`,
			model.LabelSet{model.AddressLabel: "http://a:1/metrics"},
		},
		{
			"an unknown kind",
			`target "a:1" has engine "trtlm-serve": write one of ` + strings.Join(config.Engines(nil), ", "),
			model.LabelSet{model.AddressLabel: "a:1", "engine": "trtlm-serve"},
		},
		{
			"an unknown scheme", `target "a:1" has __scheme__ "ftp": write http or https`,
			model.LabelSet{model.AddressLabel: "a:1", model.SchemeLabel: "ftp"},
		},
		{
			"an invalid __silent__", `label __silent__ is "sometimes": write true or false`,
			model.LabelSet{model.AddressLabel: "10.2.0.7:8002", SilentLabel: "sometimes"},
		},
	} {
		all, s := targetsFound(model.LabelSet{model.AddressLabel: "10.2.0.9:8002"}, c.set)
		require.Len(t, all, 1, c.name)
		require.Equal(t, 1, s.LeftOut, c.name)
		require.Contains(t, s.Error, c.failed, c.name)
	}
}

func TestCommandLinePathIsRequestedVerbatim(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"http://triton:8002/m", "http://triton:8002/my%20metrics", "http://triton:8002/100%25/a%3Fb",
	} {
		f, err := config.FromTargets([]string{url}, config.DefaultPool)
		require.NoError(t, err)
		all, _ := targetsOf(
			&f.Pools[0], config.DefaultSharding, f.Pools[0].Discovery.StaticConfigs, slog.New(slog.DiscardHandler),
		)
		require.Len(t, all, 1)
		require.Equal(t, url, all[0].MetricsURL)
	}
}

func TestTargetLabelsSetPageAndAPI(t *testing.T) {
	t.Parallel()
	all, _ := targetsFound(model.LabelSet{
		model.AddressLabel:             "10.2.0.7:8002",
		model.SchemeLabel:              "https",
		model.MetricsPathLabel:         "/m",
		model.ParamLabelPrefix + "key": "a b",
		APIAddressLabel:                "10.2.0.8:8000",
		"zone":                         "a",
		"engine":                       "triton",
	})
	require.Equal(t, "https://10.2.0.7:8002/m?key=a+b", all[0].MetricsURL)
	require.Equal(t, "https://10.2.0.8:8000", all[0].APIURL)
	require.Equal(t, "triton", all[0].Engine)
	require.Equal(t, map[string]string{"zone": "a"}, all[0].Labels)
	require.False(t, all[0].Silent, "%+v is scraped", all[0])
}

func TestAPIPathFromTargetOrPool(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, path string
		port       int
		labels     model.LabelSet
		want       string
	}{
		{"on the port of the page", "/b/", 0, nil, "http://10.2.0.7:8002/b"},
		{"on another port", "/b", 8000, nil, "http://10.2.0.7:8000/b"},
		{"of the target, not the pool", "/b", 0, model.LabelSet{APIPathLabel: "/c d"}, "http://10.2.0.7:8002/c%20d"},
		{
			"at another address", "", 0,
			model.LabelSet{APIPathLabel: "/c", APIAddressLabel: "10.2.0.8:80"},
			"http://10.2.0.8:80/c",
		},
		{"at the root", "/", 0, nil, "http://10.2.0.7:8002"},
		{"not said", "", 0, nil, ""},
	} {
		p := config.DefaultPool
		p.APIPath, p.APIPort = c.path, c.port
		groups := []*targetgroup.Group{
			{Targets: []model.LabelSet{model.LabelSet{model.AddressLabel: "10.2.0.7:8002"}.Merge(c.labels)}},
		}
		all, _ := targetsOf(&p, config.DefaultSharding, groups, slog.New(slog.DiscardHandler))
		require.Len(t, all, 1, c.name)
		require.Equal(t, c.want, all[0].APIURL, c.name)
	}
}

// TestZoneIsPartOfTheAddress has a zone, which URLs spell otherwise than addresses.
func TestZoneIsPartOfTheAddress(t *testing.T) {
	t.Parallel()
	p := config.DefaultPool
	p.APIPort = 8000
	groups := []*targetgroup.Group{{Targets: []model.LabelSet{{model.AddressLabel: "[fe80::1%eth0]:8002"}}}}
	all, _ := targetsOf(&p, config.DefaultSharding, groups, slog.New(slog.DiscardHandler))
	require.Len(t, all, 1)
	require.Equal(t, [2]string{"http://[fe80::1%25eth0]:8002", "http://[fe80::1%25eth0]:8000"},
		[2]string{all[0].MetricsURL, all[0].APIURL})
}

// TestSchemeIgnoresCase uses values of annotations like prometheus.io/scheme.
func TestSchemeIgnoresCase(t *testing.T) {
	t.Parallel()
	for scheme, want := range map[string][2]string{
		"https": {"https://10.2.0.7:8002", "grpcs://10.2.0.7:8001"},
		"HTTPS": {"https://10.2.0.7:8002", "grpcs://10.2.0.7:8001"},
		"Http":  {"http://10.2.0.7:8002", "grpc://10.2.0.7:8001"},
	} {
		p := config.DefaultPool
		p.APIProtocol, p.APIPort = config.ProtocolGRPC, 8001
		groups := []*targetgroup.Group{
			{
				Targets: []model.LabelSet{
					{model.AddressLabel: "10.2.0.7:8002", model.SchemeLabel: model.LabelValue(scheme)},
				},
			},
		}
		all, _ := targetsOf(&p, config.DefaultSharding, groups, slog.New(slog.DiscardHandler))
		require.Len(t, all, 1, scheme)
		require.Equal(t, want, [2]string{all[0].MetricsURL, all[0].APIURL}, scheme)
	}
}

// TestAddressIsShownWithoutSecrets uses addresses that people write as URLs.
func TestAddressIsShownWithoutSecrets(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, address, shown string }{
		{"with a user", "bob:hunter2@10.2.0.7:8002", "10.2.0.7:8002"},
		{"with an @ in the password", "bob:p@hunter2@10.2.0.7:8002", "10.2.0.7:8002"},
		{"with a quotation mark in the password", `bob:"hunter2@10.2.0.7:8002`, "10.2.0.7:8002"},
		{"a URL with a user", "http://bob:hunter2@10.2.0.7:8002/metrics", "10.2.0.7:8002/metrics"},
		{"with a query", "10.2.0.7:8002/metrics?token=hunter2", "10.2.0.7:8002/metrics"},
		{"with a fragment", "10.2.0.7:8002#hunter2", "10.2.0.7:8002"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			p := config.DefaultPool
			p.PoolID = "llama"
			groups := []*targetgroup.Group{
				{Source: "found", Targets: []model.LabelSet{{model.AddressLabel: model.LabelValue(c.address)}}},
			}
			_, status := targetsOf(&p, config.DefaultSharding, groups, slog.New(slog.NewTextHandler(&log, nil)))
			p.RelabelConfigs = append(p.RelabelConfigs, &relabel.Config{
				SourceLabels: model.LabelNames{model.AddressLabel},
				Regex:        prometheus.MustNewRegexp("(.+)"),
				Action:       prometheus.Drop,
			})
			_, dropped := targetsOf(&p, config.DefaultSharding, groups, slog.New(slog.DiscardHandler))

			require.Equal(t, 1, status.LeftOut)
			require.Contains(t, status.Error, fmt.Sprintf("target %q is not an address", c.shown))
			require.Equal(t, c.shown, dropped.Drops[0].Address)
			require.Contains(t, dropped.Drops[0].Rule, fmt.Sprintf("and it is %q", c.shown))
			require.NotContains(t, log.String()+fmt.Sprint(status, dropped), "hunter2")
		})
	}
}
