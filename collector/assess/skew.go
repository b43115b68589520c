package assess

import (
	"strconv"
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// The facts in which the replicas of a pool should be alike.
const (
	skewEngineVersion = "engine_version"
	skewTRTLLMVersion = "trtllm_version"
	skewConfigHash    = "config_hash"
	skewBlockTokens   = "kv_block_tokens"
	skewBuckets       = "histogram_buckets"
	skewGPU           = "gpu"
)

// SkewFacts lists the facts in which replicas of a pool should be alike.
func SkewFacts() []string {
	return []string{skewEngineVersion, skewTRTLLMVersion, skewConfigHash, skewBlockTokens, skewBuckets, skewGPU}
}

// Skew gives the replica's values of the skew facts, by its kind of server, for
// those of a pool that mixes kinds differ as they should; nil while its page
// fails, for a replica that is gone is not of another version.
func (k *Known) Skew() target.SkewFacts {
	if k.Page == nil || k.Topology == nil {
		return nil
	}
	facts := make(target.SkewFacts)
	set := func(fact, item, value string) {
		if value == "" || value == unknown {
			return
		}
		if facts[fact] == nil {
			facts[fact] = make(map[string]string)
		}
		facts[fact][strings.TrimSpace(string(k.Engine.Kind())+" "+item)] = value
	}
	set(skewEngineVersion, "", k.EngineVersion)
	set(skewTRTLLMVersion, "", k.TRTLLMVersion)
	for i := range k.Models {
		set(skewConfigHash, k.Models[i].Name, k.Models[i].ConfigHash)
	}
	if n, ok := k.Page.Value(engine.KVBlockTokens); ok {
		set(skewBlockTokens, "", strconv.FormatFloat(n, 'f', -1, 64))
	}
	for family, bounds := range k.Page.Buckets() {
		set(skewBuckets, family, bounds)
	}
	if gpu, ok := k.Page.GPU(); ok {
		set(skewGPU, "", gpu)
	}
	return facts
}

// SkewOf is the number of distinct values of a fact among replicas, less one;
// of facts with several items the largest of theirs. False when no replica
// exposes the fact.
func SkewOf(fact string, replicas []target.SkewFacts) (int, bool) {
	distinct := make(map[string]map[string]bool)
	for _, facts := range replicas {
		for item, value := range facts[fact] {
			if distinct[item] == nil {
				distinct[item] = make(map[string]bool)
			}
			distinct[item][value] = true
		}
	}
	most := 0
	for _, values := range distinct {
		most = max(most, len(values))
	}
	return most - 1, most > 0
}

// DistinctOutputs is the largest number of distinct answers that the canary had from
// replicas of one group; false while no two can be compared.
func DistinctOutputs(answers []*target.Canary) (int, bool) {
	distinct := make(map[string]map[string]bool)
	replicas := make(map[string]int)
	for _, a := range answers {
		if distinct[a.Group] == nil {
			distinct[a.Group] = make(map[string]bool)
		}
		distinct[a.Group][a.Output] = true
		replicas[a.Group]++
	}
	most, compared := 0, false
	for group, n := range replicas {
		if n > 1 {
			most, compared = max(most, len(distinct[group])), true
		}
	}
	return most, compared
}
