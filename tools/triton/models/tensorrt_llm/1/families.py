"""The metric families of the TensorRT-LLM backend: names, HELP texts and labels as it writes them."""

import triton_python_backend_utils as pb_utils

BUCKETS = [10.0, 50.0, 100.0, 500.0, 1000.0]
GAUGES = (
    ("nv_trt_llm_request_metrics", "TRT LLM request metrics", "request_type",
     ("waiting", "context", "scheduled", "max", "active")),
    ("nv_trt_llm_runtime_memory_metrics", "TRT LLM runtime memory metrics", "memory_type",
     ("pinned", "gpu", "cpu")),
    ("nv_trt_llm_kv_cache_block_metrics", "TRT LLM KV cache block metrics", "kv_cache_block_type",
     ("fraction", "reused", "tokens_per", "used", "free", "max")),
    ("nv_trt_llm_inflight_batcher_metrics", "TRT LLM inflight_batcher-specific metrics", "inflight_batcher_specific_metric",
     ("paused_requests", "micro_batch_id", "generation_requests", "total_context_tokens")),
    ("nv_trt_llm_general_metrics", "General TRT LLM metrics", "general_type",
     ("iteration_counter", "timestamp")),
)
COUNTERS = (
    ("nv_trt_llm_disaggregated_serving_metrics", "TRT LLM disaggregated serving metrics", "disaggregated_serving_type",
     ("kv_cache_transfer_ms", "request_count")),
)
MEMORY = {"cpu": 4096, "gpu": 15032385536, "pinned": 269320}


class Families:
    """Owns the metrics of one model; make it in initialize, MetricFamily is not there at import.

    All gauges, the limit of requests too, are 0 until the first iteration, as the backend's are.
    """

    def __init__(self, model, version):
        self._of_model = {"model": model, "version": version}
        self._families = []  # A family that is collected takes its metrics off the page.
        self._metrics = {}
        kinds = pb_utils.MetricFamily
        for described, kind in ((GAUGES, kinds.GAUGE), (COUNTERS, kinds.COUNTER)):
            for name, text, label, values in described:
                self._create(name, text, kind, label, values)
        # Custom histograms came with Triton 24.08.
        self._with_histograms = hasattr(kinds, "HISTOGRAM")
        if self._with_histograms:
            for way in ("input", "output"):
                self._create("nv_llm_%s_token_len" % way, "TRT LLM response metrics", kinds.HISTOGRAM,
                             "response_metric_type", ("total_%s_tokens" % way,), buckets=BUCKETS)

    def _create(self, name, text, kind, label, values, **options):
        family = pb_utils.MetricFamily(name=name, description=text, kind=kind)
        self._families.append(family)
        for value in values:
            self._metrics[label, value] = family.Metric(labels={label: value, **self._of_model}, **options)

    def _set(self, label, value, number):
        self._metrics[label, value].set(float(number))

    def publish(self, stats, executor):
        """Write one iteration, as the backend does each time it drains its statistics."""
        cache = executor.cache
        groups = {
            "request_type": {
                "active": stats.active, "max": executor.max_active, "scheduled": stats.scheduled,
                "context": stats.context, "waiting": stats.active - stats.scheduled},
            "memory_type": MEMORY,
            "kv_cache_block_type": {
                "max": cache.max, "free": cache.max - stats.kv_used, "used": stats.kv_used, "tokens_per": cache.tokens_per,
                "reused": stats.kv_reused, "fraction": round(stats.kv_used / cache.max, 6)},
            "inflight_batcher_specific_metric": {
                "total_context_tokens": stats.total_context_tokens, "generation_requests": stats.generation_requests,
                "micro_batch_id": 0, "paused_requests": stats.paused_requests},
            "general_type": {"timestamp": int(stats.time * 1e6), "iteration_counter": stats.iteration_counter},
        }
        for label, values in groups.items():
            for value, number in values.items():
                self._set(label, value, number)

    def observe(self, prompt_tokens, generated_tokens):
        """Count a finished request."""
        if self._with_histograms:
            self._metrics["response_metric_type", "total_input_tokens"].observe(float(prompt_tokens))
            self._metrics["response_metric_type", "total_output_tokens"].observe(float(generated_tokens))
