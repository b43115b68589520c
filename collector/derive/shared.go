package derive

import (
	"slices"
	"sync"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// Naming is how the series of a target are named: by its labels and the ids of its models.
type Naming struct {
	// Labels holds engine, pool_id, replica_id and, if series carry them, the versions.
	Labels labels.Labels
	// EngineVersion, TRTLLMVersion and Source are labels of llm_server_info.
	EngineVersion, TRTLLMVersion string
	Source                       engine.VersionSource
	// Topology knows model ids and roles, and how models treat requests.
	Topology *engine.Topology
	// Relabel relabels the series, unless it is nil.
	Relabel exposition.Labeler
}

// indexKey is everything that an index depends on: targets with equal keys share an index.
type indexKey struct {
	page       exposition.WatchedKey
	kind       *engine.Kind
	ranks      engine.Ranks
	topology   *engine.Topology
	objectives [maxObjectives]Objective
	aliases    aliasNames
	models     int

	noWindowGauges, aliasesOnly, rawWhole bool

	off exposition.Groups

	labels                       labels.Labels
	engineVersion, trtllmVersion string
	source                       engine.VersionSource
}

// maxObjectives is how many objectives a pool can have.
const maxObjectives = 5

// indexes holds the indexes of all targets.
//
//nolint:gochecknoglobals // memory only; it holds no values of any target.
var indexes exposition.Interner[indexKey, index]

// sharedIndex returns the index of a page, which is shared unless the traffic of models or GPUs in
// labels differ between targets. The block may be nil.
func sharedIndex(o *Options, page *engine.Page, block *exposition.Block) *index {
	build := func() *index { return newIndex(o, page, block) }
	alike, ok := page.Shape().WatchedKey()
	everyModel := o.Output.Models == 0 || len(page.NamedModels().Names) <= o.Output.Models
	if !ok || !everyModel || o.Naming.Labels.Has(exposition.LabelGPU) || len(o.Objectives) > maxObjectives {
		return build()
	}
	key := indexKey{
		page:           alike,
		kind:           o.Engine,
		ranks:          page.Ranks(),
		topology:       o.Naming.Topology.Shared(),
		aliases:        o.aliases(page.Shape()),
		models:         o.Output.Models,
		noWindowGauges: o.NoWindowGauges,
		off:            o.Off,
		rawWhole:       o.RawWhole,
		aliasesOnly:    o.AliasesOnly,
		labels:         o.Naming.ruleLabels(),
		engineVersion:  o.Naming.EngineVersion,
		trtllmVersion:  o.Naming.TRTLLMVersion,
		source:         o.Naming.Source,
	}
	copy(key.objectives[:], o.Objectives)
	return indexes.Intern(key, nil, build)
}

// seriesOf returns the series of the index with the labels and GPUs of a target.
func (ix *index) seriesOf(n *Naming, gpus []string) []exposition.ComputedSeries {
	all := slices.Clone(ix.series)
	base := n.Labels.MatchLabels(false, ruleLabelNames()...)
	b := labels.NewBuilder(base)
	for i := range all {
		b.Reset(base)
		all[i].Labels.Range(func(l labels.Label) {
			if pos := slices.Index(ix.gpus, l.Value); pos >= 0 && l.Name == exposition.LabelGPU {
				l.Value = gpus[pos]
			}
			b.Set(l.Name, l.Value)
		})
		all[i].Labels = b.Labels()
	}
	return all
}

// ruleLabelNames returns the names of all labels that any rule sets or reads.
//
//nolint:gochecknoglobals // constant data, built on first use.
var ruleLabelNames = sync.OnceValue(func() []string {
	names := []string{"engine"}
	add := func(_ Scope, all []string) { names = append(names, all...) }
	for _, f := range Catalogue() {
		add(f.rule.scopeAndLabels())
	}
	for _, s := range servers() {
		for signal := range s.signals {
			add(labelsOf(signal))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
})

// ruleLabels returns the labels of the target that rules set or read.
func (n *Naming) ruleLabels() labels.Labels {
	return n.Labels.MatchLabels(true, ruleLabelNames()...)
}
