package assess

import (
	"strconv"
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
	"github.com/trtllm-exporter/trtllm_exporter/relabel"
)

// SkewFacts lists the facts in which the replicas of a pool should agree.
func SkewFacts() []string {
	return []string{"engine_version", "trtllm_version", "config_hash", "kv_block_tokens", "histogram_buckets", "gpu"}
}

// distinct holds the distinct values of items.
type distinct map[string]map[string]bool

func (d distinct) add(item, value string) {
	if d[item] == nil {
		d[item] = make(map[string]bool)
	}
	d[item][value] = true
}

// Skew returns the values of the skew facts of the replica, nil while the page fails. They are by
// kind of server, since kinds differ legitimately.
func (f *Findings) Skew() target.SkewFacts {
	if f.Page == nil || f.Topology == nil {
		return nil
	}
	facts := make(target.SkewFacts)
	set := func(fact, item, value string) {
		if value == "" || value == relabel.Unknown {
			return
		}
		if facts[fact] == nil {
			facts[fact] = make(map[string]string)
		}
		facts[fact][strings.TrimSpace(string(f.Engine.Name)+" "+item)] = value
	}
	set("engine_version", "", f.EngineVersion)
	set("trtllm_version", "", f.TRTLLMVersion)
	for i := range f.Models {
		set("config_hash", f.Models[i].Name, f.Models[i].ConfigHash)
	}
	if n, ok := f.Page.Value(engine.KVBlockTokens); ok {
		set("kv_block_tokens", "", strconv.FormatFloat(n, 'f', -1, 64))
	}
	for family, bounds := range f.Page.Buckets() {
		set("histogram_buckets", family, bounds)
	}
	if gpu, ok := f.Page.GPU(); ok {
		set("gpu", "", gpu)
	}
	return facts
}

// SkewOf returns the number of distinct values of a fact among replicas minus one, or the largest
// such number if the fact has several items. It reports false if no replica exposes it.
func SkewOf(fact string, replicas []target.SkewFacts) (int, bool) {
	values, largest := make(distinct), 0
	for _, facts := range replicas {
		for item, value := range facts[fact] {
			values.add(item, value)
			largest = max(largest, len(values[item]))
		}
	}
	return largest - 1, largest > 0
}

// DistinctOutputs returns the largest number of distinct canary answers from replicas of one
// group. It reports false if no two can be compared.
func DistinctOutputs(answers []*target.Canary) (int, bool) {
	outputs, replicas := make(distinct), make(map[string]int)
	largest, compared := 0, false
	for _, a := range answers {
		outputs.add(a.Group, a.Output)
		replicas[a.Group]++
		if replicas[a.Group] > 1 {
			largest, compared = max(largest, len(outputs[a.Group])), true
		}
	}
	return largest, compared
}
