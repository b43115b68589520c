package derive

import (
	"strings"
	"sync"
	"weak"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// label is one label of a series.
type label = labels.Label

// shared is what the targets of one program have in common besides it. It is safe
// for concurrent use.
type shared struct {
	likeness likeness

	mu sync.Mutex
	// rendered are the series of some targets by the labels that they carry.
	rendered map[string]weak.Pointer[rendered]
}

// rendered are the series of a program with the labels of one target. It never
// changes.
type rendered struct {
	out *exposition.Computed
	// replica and gpus are the target's own texts in the labels.
	replica string
	gpus    []string
	// cost is what the series take of a page before relabeling.
	cost exposition.Budget
	// of are the series of another target that these were made of, which are kept for
	// further ones.
	of *rendered
}

// common are the labels that series carry, but for the replica's own.
func (id *Identity) common() string {
	var all strings.Builder
	for _, text := range []string{id.EngineVersion, id.TRTLLMVersion, string(id.Source)} {
		all.WriteString(text + "\x00")
	}
	id.Labels.Range(func(l label) {
		if l.Name != labelReplica {
			all.WriteString(l.Name + "\x00" + l.Value + "\x00")
		}
	})
	return all.String()
}

// labelReplica is the label by which the replicas of a pool differ.
const labelReplica = "replica_id"

// like makes the series of a target of those of another with the same program and
// labels; nil where there is none, or their own texts are not alike.
func (p *program) like(opts *Options, page *exposition.Shape) *rendered {
	if opts.Identity.Relabel != nil {
		return nil // Rules may look at any text.
	}
	p.shared.mu.Lock()
	of := p.shared.rendered[opts.Identity.common()].Value()
	p.shared.mu.Unlock()
	gpus := page.GPUs()
	if of == nil || len(of.gpus) != len(gpus) {
		return nil
	}
	texts := map[string]string{of.replica: opts.Identity.Labels.Get(labelReplica)}
	longer := max(0, len(texts[of.replica])-len(of.replica))
	for i, gpu := range of.gpus {
		texts[gpu] = gpus[i]
		longer = max(longer, len(texts[of.replica])+len(gpus[i])-len(of.replica)-len(gpu))
	}
	if len(texts) != len(gpus)+1 {
		return nil
	}
	// How long labels are may take a byte more to say.
	cost := of.cost.Plus(exposition.Budget{Bytes: of.cost.Series * (longer + 2)})
	if !opts.Budget.Less(page.Cost()).Has(cost) {
		return nil
	}
	out, ok := of.out.For(texts)
	if !ok {
		return nil
	}
	return &rendered{out: out, replica: texts[of.replica], gpus: gpus, cost: cost, of: of}
}

// renderFor gives the series of the program the labels of a target; left are those
// for which there is no room.
func (p *program) renderFor(opts *Options, series []exposition.ComputedSeries, page *exposition.Shape) (r *rendered, left int) {
	left = boundSeries(series, opts.Identity.Topology.Served(), opts.Budget.Less(page.Cost()))
	r = &rendered{out: exposition.NewRelabelled(series, opts.Identity.Relabel, page), gpus: page.GPUs()}
	if left > 0 || opts.Identity.Relabel != nil {
		return r, left
	}
	r.replica = opts.Identity.Labels.Get(labelReplica)
	for i := range series {
		if !series[i].Aside {
			r.cost = r.cost.Plus(series[i].Cost())
		}
	}
	p.shared.mu.Lock()
	defer p.shared.mu.Unlock()
	if p.shared.rendered == nil {
		p.shared.rendered = make(map[string]weak.Pointer[rendered])
	}
	for common, one := range p.shared.rendered {
		if one.Value() == nil {
			delete(p.shared.rendered, common)
		}
	}
	p.shared.rendered[opts.Identity.common()] = weak.Make(r)
	return r, left
}
