package assess

import (
	"strconv"

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

// Skew gives the replica's values of the skew facts; nil while its page fails,
// for a replica that is gone is not of another version.
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
		facts[fact][item] = value
	}
	set(skewEngineVersion, "", k.EngineVersion)
	set(skewTRTLLMVersion, "", k.TRTLLMVersion)
	for i := range k.Models {
		set(skewConfigHash, k.Models[i].Name, k.Models[i].ConfigHash)
	}
	if n, ok := k.Page.KVBlockTokens(); ok {
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
