package matrix

import (
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

// vllms returns the generations of vLLM.
func vllms() []Server {
	http := []engine.Class{engine.ClassOK, engine.ClassClient, engine.ClassServer}
	old, newest, rust, quiet := vllm("0.9.1"), vllm("0.32.0"), vllm("0.32.0"), vllm("0.32.0")
	old.Name, old.Counts = "vLLM 0.9", http
	newest.Name = "vLLM 0.32"
	newest.Counts = []engine.Class{engine.ClassOK, engine.ClassClient, engine.ClassServer, engine.ClassOverload}
	rust.Name = "vLLM 0.32, frontend in Rust"
	rust.Counts = []engine.Class{engine.ClassOK, engine.ClassClient, engine.ClassServer, engine.ClassCanceled}
	rust.spec.RustFrontend = true
	quiet.Name, quiet.Counts = "vLLM with --disable-log-stats", http
	quiet.TakenAsOK = []engine.Class{engine.ClassCanceled}
	quiet.spec.NoPerfMetrics = true
	return []Server{old, newest, rust, quiet}
}

// vllm returns a release. A tenth of each prompt is in the KV cache.
func vllm(release string) Server {
	s := Server{
		Name:   "vLLM " + release,
		Kind:   engine.VLLM,
		Facts:  singleModel(release),
		spec:   served(simulate.KindVLLM, release),
		cached: 20,
	}
	s.spec.Engine.TokensPerBlock = 16
	return s
}
