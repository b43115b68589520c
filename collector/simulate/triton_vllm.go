package simulate

// KindTritonVLLM is Triton with the vLLM backend and its families.
const KindTritonVLLM Kind = "triton-vllm"

// vllmFlavour returns the flavour with the vLLM backend.
func vllmFlavour() flavour {
	return flavour{
		complete: func(s *Spec) { s.Streaming = true },
		models: []model{{
			name: "vllm_model", role: roleLLM, backend: "vllm", decoupled: true, loadSeconds: 38.007213551,
			inputs: []string{"text_input BYTES", "stream BOOL", "sampling_parameters BYTES"},
		}},
		backend: func(*triton) backend { return &vllmBackend{booked: newVLLM()} },
		configure: func(_ Spec, config object) []string {
			config["max_batch_size"] = 0
			return []string{"REPORT_CUSTOM_METRICS", "yes"}
		},
	}
}

// vllmBackend has the families of vLLM's engine.
type vllmBackend struct {
	silent
	booked
}

func (b *vllmBackend) started(r *request)     { b.booked.started(r) }
func (b *vllmBackend) finished(r *request)    { b.booked.finished(r) }
func (b *vllmBackend) iterated(it *iteration) { b.booked.iterated(it) }
func (b *vllmBackend) counters(p *page)       { b.writeTokens(p, "vllm:", b.labels()) }
func (b *vllmBackend) histograms(p *page)     { b.writeTimes(p, "vllm:", b.labels()) }
func (*vllmBackend) labels() string           { return pairs("model", "vllm_model", "version", "1") }
