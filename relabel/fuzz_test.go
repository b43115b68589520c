package relabel_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/prometheus/prometheus/model/labels"
	prometheus "github.com/prometheus/prometheus/model/relabel"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/relabel"
)

// vocabulary makes random rules match random labels often.
var vocabulary = []string{
	"a",
	"b",
	"ab",
	"model",
	"model_name",
	"rack",
	"__tmp_a", "__meta_a", "__address__", "__name__", "exported_pool_id", "exported_exported_pool_id", "exported_rack",
	"engine", "engine_version", "trtllm_version", "pool_id", "replica_id", "model_id", "ensemble", "llama", "x y", "Å",
}

// dice generates random rules and labels.
type dice struct{ *rand.Rand }

func (d dice) word() string { return vocabulary[d.IntN(len(vocabulary))] }

func (d dice) pick(list ...string) string { return list[d.IntN(len(list))] }

func (d dice) labels() labels.Labels {
	set := map[string]string{"__name__": d.word()}
	for range d.IntN(12) {
		set[d.word()] = d.pick(d.word(), d.word()+";"+d.word(), "")
	}
	return labels.FromMap(set)
}

// rule returns a rule as YAML, perhaps an invalid one.
func (d dice) rule(regex string) string {
	var b strings.Builder
	action := d.pick(
		"replace",
		"replace",
		"keep",
		"drop",
		"hashmod",
		"labelmap",
		"labeldrop",
		"labelkeep",
		"lowercase",
		"uppercase",
		"keepequal",
		"dropequal",
	)
	fmt.Fprintf(&b, "{action: %s", action)
	equal, byName := strings.HasSuffix(action, "equal"), strings.HasPrefix(action, "label")
	if !byName {
		fmt.Fprintf(
			&b,
			", source_labels: [%q, %q], target_label: %q",
			d.word(),
			d.word(),
			d.pick(d.word(), d.word(), "${1}"),
		)
	}
	if !equal && d.IntN(4) > 0 {
		fmt.Fprintf(
			&b,
			", regex: %q",
			d.pick(regex, "(.*)", "(.*);.*", ".+", d.word()+".*", "(.*)_id", "__name__|(pool_id|a)", d.word()+"(.*)"),
		)
	}
	switch action {
	case "hashmod":
		fmt.Fprintf(&b, ", modulus: %d", d.IntN(4))
	case "replace":
		fmt.Fprintf(&b, ", replacement: %q, separator: %q", d.pick("$1", "${1}_x", d.word(), ""), d.pick(";", "", "-"))
	case "labelmap":
		fmt.Fprintf(&b, ", replacement: %q", d.pick("$1", "copy_$1", d.word()))
	}
	return b.String() + "}"
}

// exported reimplements Prometheus' rule for colliding labels of a target: shortest names
// first, one exported_ more until the name is free.
func exported(in, ours map[string]string, keep func(string) bool) map[string]string {
	out := maps.Clone(in)
	var moved []string
	for _, name := range slices.Sorted(maps.Keys(ours)) {
		if in[name] != "" && keep(name) {
			continue
		}
		if in[name] != "" {
			moved = append(moved, name)
		}
		out[name] = ours[name]
	}
	slices.SortStableFunc(moved, func(a, b string) int { return len(a) - len(b) })
	for _, name := range moved {
		to := "exported_" + name
		for out[to] != "" {
			to = "exported_" + to
		}
		out[to] = in[name]
	}
	return out
}

// want returns the expected result of [relabel.Relabeler.Series] by Prometheus' own
// rules; nil if the series is dropped.
func want(in labels.Labels, r relabel.Rules, id relabel.TargetLabels) map[string]string {
	attach := maps.Clone(id.Labels)
	maps.Copy(attach, map[string]string{
		"engine":         id.Engine,
		"engine_version": id.EngineVersion,
		"trtllm_version": id.TRTLLMVersion,
		"pool_id":        id.PoolID,
		"replica_id":     id.ReplicaID,
		"model_id":       "",
	})
	for _, name := range []string{"model_name", "model"} {
		if in.Get(name) != "" {
			attach["model_id"] = id.ModelID(in.Get(name))
		}
	}
	set := exported(in.Map(), attach, func(name string) bool { return id.HonorLabels && id.Labels[name] != "" })
	// As in a scrape, the rules see the identity after the target's labels.
	b := labels.NewBuilder(in)
	names := slices.Concat(
		slices.Sorted(maps.Keys(attach)),
		slices.SortedFunc(maps.Keys(set), func(x, y string) int { return len(x) - len(y) }),
	)
	for _, name := range names {
		if in.Get(name) != set[name] {
			b.Set(name, set[name])
		}
	}
	return after(b, r, id)
}

// after returns the labels after Prometheus' own rules with pool_id and replica_id
// restored; nil if the series is dropped.
func after(b *labels.Builder, r relabel.Rules, id relabel.TargetLabels) map[string]string {
	if !prometheus.ProcessBuilder(b, r...) {
		return nil
	}
	out := b.Labels().Map()
	out["pool_id"], out["replica_id"] = id.PoolID, id.ReplicaID
	maps.DeleteFunc(out, func(name, _ string) bool { return strings.HasPrefix(name, "__") && name != "__name__" })
	for name, value := range out {
		if name == "" || !utf8.ValidString(name) || !utf8.ValidString(value) {
			return nil
		}
	}
	if out["__name__"] == "" {
		return nil
	}
	return out
}

// remaining returns the labels of a kept series.
func remaining(res relabel.Result) map[string]string {
	if !res.Keep {
		return nil
	}
	return res.Labels.Map()
}

// collides reports whether a labelmap may map two labels to one name. Which of them wins
// depends on their order, which is unspecified.
func collides(r relabel.Rules) bool {
	return slices.ContainsFunc(r, func(c *relabel.Config) bool { return c.Action == prometheus.LabelMap })
}

// parsed returns labels as the parser returns them: without those that begin with __.
func parsed(in labels.Labels) labels.Labels {
	set := in.Map()
	maps.DeleteFunc(set, func(name, _ string) bool { return strings.HasPrefix(name, "__") && name != "__name__" })
	return labels.FromMap(set)
}

func FuzzRules(f *testing.F) {
	for seed := range uint64(300) {
		f.Add(seed, "(.*)a.*")
	}
	f.Fuzz(func(t *testing.T, seed uint64, regex string) {
		d := dice{rand.New(rand.NewPCG(seed, 1))}
		text := make([]string, d.IntN(5))
		for i := range text {
			text[i] = d.rule(regex)
		}
		r, err := decode("[" + strings.Join(text, ", ") + "]")
		if err != nil || r.Validate() != nil {
			return
		}
		id := llama()
		id.Labels, id.HonorLabels = map[string]string{"rack": "r1", "ab": "ours"}, d.IntN(2) == 0
		series, in := relabel.New(r, id), d.labels()

		b := labels.NewBuilder(in)
		remains := prometheus.ProcessBuilder(b, r...)
		out, keep := r.Target(in)
		require.Equal(t, remains, keep)
		if keep {
			remaining := b.Labels().Map()
			maps.DeleteFunc(remaining, func(name, _ string) bool {
				return strings.HasPrefix(name, "__meta_") || strings.HasPrefix(name, "__tmp")
			})
			require.Equal(t, remaining, out.Map())
		}

		for range 4 {
			in = parsed(in)
			wanted, res := want(in, r, id), series.Series(in)
			if res.Keep {
				require.Equal(t, "llama-prod", res.Labels.Get("pool_id"))
				require.Equal(t, "r0", res.Labels.Get("replica_id"))
			}
			require.Equal(t, res.Reason == "", res.Keep)
			if !collides(r) {
				require.Equal(t, wanted != nil, res.Keep, "%s: %s: %s", text, in, res.Reason)
			}
			if res.Keep && !collides(r) {
				require.Equal(t, wanted, res.Labels.Map(), "%s: %s", text, in)
			}

			// The exporter's own series have the identity already.
			exporters := labels.NewBuilder(in).Set("pool_id", id.PoolID).Set("replica_id", id.ReplicaID).Labels()
			mine := series.ApplyRules(exporters)
			require.Equal(t, mine.Reason == "", mine.Keep)
			require.Empty(t, mine.Collisions)
			if !collides(r) {
				wanted := after(labels.NewBuilder(exporters), r, id)
				require.Equal(t, wanted != nil, mine.Keep, "%s: %s: %s", text, exporters, mine.Reason)
				require.Equal(t, wanted, remaining(mine), "%s: %s", text, exporters)
			}
			in = d.labels()
		}
	})
}
