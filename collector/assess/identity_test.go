package assess_test

import (
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	prometheus "github.com/prometheus/prometheus/model/relabel"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
	"github.com/trtllm-exporter/trtllm_exporter/relabel"
)

// identityOf returns who a replica in a rack is, of which something is known otherwise than
// usual.
func identityOf(t *testing.T, change func(*target.Target, *assess.Labels, *engine.Facts)) *assess.Identity {
	t.Helper()
	e, ok := engine.ByName("trtllm-serve")
	require.True(t, ok, "trtllm-serve is a kind")
	target1 := &target.Target{PoolID: "p", ReplicaID: "r", Labels: map[string]string{"rack": "r1"}}
	how := &assess.Labels{ModelIDs: map[string][]string{"public": {"llama"}}}
	facts := &engine.Facts{EngineVersion: "1.1.0", TRTLLMVersion: "1.1.0"}
	if change != nil {
		change(target1, how, facts)
	}
	return assess.NewIdentity(target1, how, e, nil, facts)
}

func TestReplicaIdentity(t *testing.T) {
	const versions = `engine="trtllm-serve", engine_version="1.1.0", `
	for _, c := range []struct {
		name   string
		change func(*target.Target, *assess.Labels, *engine.Facts)
		rules  string
	}{
		{
			"reported by its server", nil,
			`{` + versions + `pool_id="p", rack="r1", replica_id="r", trtllm_version="1.1.0"}`,
		},
		{"declared by the operator", func(t *target.Target, _ *assess.Labels, _ *engine.Facts) {
			t.EngineVersion, t.TRTLLMVersion = "2", "3"
		}, `{engine="trtllm-serve", engine_version="2", pool_id="p", rack="r1", replica_id="r", trtllm_version="3"}`},
		{"unknown values", func(_ *target.Target, _ *assess.Labels, f *engine.Facts) {
			*f = engine.Facts{}
		}, `{engine="trtllm-serve", engine_version="unknown", pool_id="p", rack="r1", replica_id="r", ` +
			`trtllm_version="unknown"}`},
		{"versions in the info metric only", func(_ *target.Target, how *assess.Labels, _ *engine.Facts) {
			how.Versions = relabel.VersionsInfo
		}, `{engine="trtllm-serve", pool_id="p", rack="r1", replica_id="r"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			id := identityOf(t, c.change)
			require.Equal(t, c.rules, id.Labels.String())
		})
	}
}

func TestIdentityEquality(t *testing.T) {
	id := identityOf(t, nil)
	require.False(t, id.Equal(nil), "an identity differs from none")
	require.True(t, id.Equal(identityOf(t, nil)), "two identities of the same facts")
	require.True(
		t, id.Equal(identityOf(t, func(_ *target.Target, _ *assess.Labels, f *engine.Facts) { f.BuildVersion = "9" })),
		"no series has that",
	)
	for name, change := range map[string]func(*target.Target, *assess.Labels, *engine.Facts){
		"another version": func(_ *target.Target, _ *assess.Labels, f *engine.Facts) {
			f.EngineVersion = "2"
		},
		"another TensorRT-LLM": func(t *target.Target, _ *assess.Labels, _ *engine.Facts) {
			t.TRTLLMVersion = "2"
		},
		"the same from another source": func(t *target.Target, _ *assess.Labels, _ *engine.Facts) {
			t.TRTLLMVersion = "1.1.0"
		},
		"another model": func(_ *target.Target, _ *assess.Labels, f *engine.Facts) {
			f.Models = []engine.ModelFacts{{Name: "llama"}}
		},
	} {
		require.False(t, id.Equal(identityOf(t, change)), name)
	}
	other := assess.NewIdentity(&target.Target{}, &assess.Labels{}, engine.None(), nil, nil)
	require.False(t, id.Equal(other), "another kind of server")
	require.Equal(t, relabel.Unknown, other.EngineVersion, "no facts are not a version")
}

func TestTierIsKnownFromPage(t *testing.T) {
	dynamo, _ := engine.ByName("dynamo")
	for page, tier := range map[*engine.Page]string{nil: "", pageOf(t, dynamo, "x 1\n"): "worker"} {
		require.Equal(
			t, tier,
			assess.NewIdentity(&target.Target{}, &assess.Labels{}, dynamo, page, nil).Labels.Get(assess.LabelTier),
		)
	}
}

func TestPageSeriesHaveIdentityLabels(t *testing.T) {
	label := identityOf(t, func(_ *target.Target, how *assess.Labels, _ *engine.Facts) { how.Honor = true }).Labeler()
	out := label(labels.FromStrings("__name__", "x", "model_name", "llama", "pool_id", "theirs", "rack", "theirs"))
	require.True(t, out.Keep, "the series is kept: %v", out)
	require.Equal(t, 1, out.Collisions)
	require.Equal(
		t,
		`{__name__="x", engine="trtllm-serve", engine_version="1.1.0", exported_pool_id="theirs", model_id="public",`+
			` model_name="llama", pool_id="p", rack="theirs", replica_id="r", trtllm_version="1.1.0"}`,
		out.Labels.String(),
	)
}

func TestOwnSeriesKeepTheirLabels(t *testing.T) {
	target1 := &target.Target{PoolID: "p", ReplicaID: "r"}
	require.Nil(t, assess.ReplicaLabeler(target1, &assess.Labels{}), "there are no rules")
	drop := prometheus.DefaultRelabelConfig
	drop.Action, drop.Regex = "labeldrop", prometheus.MustNewRegexp("pool_id|rack")
	rules := relabel.Rules{&drop}
	require.NoError(t, rules.Validate())
	out := assess.ReplicaLabeler(target1, &assess.Labels{Rules: rules})(
		labels.FromStrings("__name__", "x", "pool_id", "p", "rack", "r1", "replica_id", "r"),
	)
	require.True(t, out.Keep, "the series is kept: %v", out)
	require.Zero(t, out.Collisions)
	require.Equal(t, `{__name__="x", pool_id="p", replica_id="r"}`, out.Labels.String())
}
