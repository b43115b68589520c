package matrix

import (
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

// sglangs returns SGLang, which counts canceled requests as completed too.
func sglangs() []Server {
	s := sglang("SGLang 0.5", "0.5.23")
	s.Counts = engine.Classes()
	return []Server{s}
}

// sglang returns a SGLang of a release.
func sglang(name, release string) Server {
	return Server{
		Name:   name,
		Kind:   engine.SGLang,
		Facts:  singleModel(release),
		spec:   served(simulate.KindSGLang, ""),
		cached: 1,
	}
}
