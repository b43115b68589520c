"""The parts of the metrics module, each alone."""

import asyncio
import json
from types import SimpleNamespace

import pytest
import trtllm_metrics as tm
from conftest import Metric, MetricFamily

GIB = 1 << 30


def row(iteration=7, active=6, scheduled=4, queued=3, rank=None, **groups):
    """Statistics of an iteration as the PyTorch backend gives them."""
    stats = {
        "iter": iteration, "numActiveRequests": active, "numQueuedRequests": queued, "maxNumActiveRequests": 8,
        "gpuMemUsage": 14 * GIB, "cpuMemUsage": 0, "pinnedMemUsage": 0,
        "kvCacheStats": {"maxNumBlocks": 64, "freeNumBlocks": 48, "usedNumBlocks": 16, "tokensPerBlock": 32, "reusedBlocks": 5, "missedBlocks": 9},
        "inflightBatchingStats": {
            "numScheduledRequests": scheduled, "numContextRequests": 1, "numGenRequests": scheduled - 1, "numPausedRequests": 2,
            "numCtxTokens": 100, "microBatchId": 0},
    }
    if rank is not None:
        stats["attentionDpRank"] = rank
    return {**stats, **groups}


def busy(*rows):
    """A tally with one request in flight and these statistics."""
    tally = tm.Tally()
    tally.accepted = 1
    for one in rows:
        tally.iterate(one)
    return tally


def gauges(tally):
    return {(name, value): number for name, _, values in tm.engine_gauges(tally) for value, number in values.items()}


def test_a_value_on_a_bound_is_inside():
    histogram = tm.Histogram((1, 2, 5))
    for value in (0.5, 1, 1.5, 5, 6):
        histogram.observe(value)
    histogram.observe(2, times=3)
    assert histogram.counts == [2, 4, 1, 1]
    assert histogram.sum == 20


def test_bounds_grow():
    for _, bounds in tm.HISTOGRAMS.values():
        assert list(bounds) == sorted(set(bounds))


class TestRequest:
    @pytest.fixture
    def clock(self, monkeypatch):
        clock = SimpleNamespace(now=100.0)
        monkeypatch.setattr(tm.time, "monotonic", lambda: clock.now)
        return clock

    @staticmethod
    def output(tokens, finished=False, reason=None, **more):
        return SimpleNamespace(outputs=[SimpleNamespace(token_ids=[0] * tokens, finish_reason=reason)], finished=finished, **more)

    @staticmethod
    def submitted(tally, streaming=True):
        request = tm.Request(tally, scoped=True)
        request.submitted, request.streaming, request.prompt = True, streaming, 12
        return request

    def test_streamed_tokens_have_a_first_and_gaps(self, clock):
        tally = tm.Tally()
        request = self.submitted(tally)
        for at, tokens in ((100.3, 1), (100.34, 2), (100.4, 5)):  # Three at once share 60 ms.
            clock.now = at
            request.saw(self.output(tokens))
        clock.now = 100.5
        request.saw(self.output(6, finished=True, reason="length"))
        request.end(None)
        assert (tally.generation_tokens, tally.prompt_tokens) == (6, 12)
        assert tally.first_token.sum == pytest.approx(0.3)
        assert sum(tally.between_tokens.counts) == 5
        assert tally.between_tokens.sum == pytest.approx(0.04 + 0.06 + 0.1)
        assert tally.duration.sum == pytest.approx(0.5)
        assert list(tally.lengths) == [(12, 6)]
        assert tally.in_flight() == 0

    def test_an_answer_in_one_piece_has_no_first_token(self, clock):
        tally = tm.Tally()
        request = self.submitted(tally, streaming=False)
        clock.now = 102.0
        request.saw(self.output(40, finished=True, reason="stop"))
        clock.now = 103.0  # Sending it is not the engine's time.
        request.end(None)
        assert (tally.generation_tokens, tally.prompt_tokens) == (40, 12)
        assert sum(tally.first_token.counts) == sum(tally.between_tokens.counts) == 0
        assert tally.duration.sum == pytest.approx(2.0)

    def test_a_stream_of_one_token_has_a_first(self, clock):
        tally = tm.Tally()
        request = self.submitted(tally)
        request.saw(self.output(1, finished=True, reason="length"))
        assert sum(tally.first_token.counts) == 1

    def test_several_answers_of_one_prompt_count_together(self, clock):
        tally = tm.Tally()
        request = self.submitted(tally)
        output = self.output(3)
        output.outputs.append(SimpleNamespace(token_ids=[0, 0]))
        request.saw(output)
        assert tally.generation_tokens == 5

    def test_tokens_that_are_taken_back_are_not_uncounted(self, clock):
        tally = tm.Tally()
        request = self.submitted(tally)
        request.saw(self.output(4))
        request.saw(self.output(2, finished=True, reason="stop"))  # The words of a stop are cut off.
        request.end(None)
        assert tally.generation_tokens == 4

    def test_a_prompt_without_an_answer_counts(self, clock):
        tally = tm.Tally()
        request = self.submitted(tally)
        request.saw(self.output(0, finished=True, reason="stop"))
        request.end(None)
        assert (tally.prompt_tokens, tally.generation_tokens) == (12, 0)

    @pytest.mark.parametrize(("reason", "error", "kind"), [
        ("length", None, ("ok", "length")),
        ("stop", None, ("ok", "stop")),
        ("not_finished", None, ("ok", "not_finished")),
        (None, None, ("ok", "unknown")),
        ("cancelled", None, ("canceled", "cancelled")),
        ("timeout", None, ("overload", "timeout")),
        ("length", asyncio.CancelledError(), ("ok", "length")),
        ("length", OSError("sending failed"), ("server", "error")),
    ])
    def test_how_a_finished_request_is_counted(self, clock, reason, error, kind):
        tally = tm.Tally()
        request = self.submitted(tally)
        request.saw(self.output(3, finished=True, reason=reason))
        request.end(error)
        assert {key for key, total in tally.ended.items() if total} == {kind}
        assert sum(tally.duration.counts) == (kind[0] == "ok"), "only good requests have a duration"

    @pytest.mark.parametrize(("submitted", "error", "kind"), [
        (False, ValueError("max_tokens must be greater than 0"), "client"),
        (False, tm.pb_utils.TritonModelException("text_input is missing"), "client"),
        (False, RuntimeError("boom"), "server"),
        (False, RuntimeError("Maximum queue size of 8 has been reached"), "overload"),
        (True, ValueError("Unknown finish reason"), "server"),
        (True, RuntimeError("prompt length (9) should not exceed max_num_tokens (8)"), "client"),
        (True, RuntimeError("CUDA error"), "server"),
        (True, asyncio.CancelledError(), "canceled"),
        (True, StopAsyncIteration(), "canceled"),
        (True, None, "canceled"),
    ])
    def test_how_a_request_that_did_not_finish_is_counted(self, clock, submitted, error, kind):
        tally = tm.Tally()
        request = tm.Request(tally, scoped=True)
        request.submitted = submitted
        request.end(error)
        request.end(None)
        assert {key[0]: total for key, total in tally.ended.items() if total} == {kind: 1}, "once"
        assert tally.in_flight() == 0

    def test_an_error_that_the_engine_puts_into_its_answer_is_one(self, clock):
        tally = tm.Tally()
        request = self.submitted(tally)
        request.saw(self.output(3, finished=True, error="the forward step failed"))
        request.end(None)
        assert tally.ended["server", "error"] == 1

    def test_a_request_that_only_stops_another_is_none(self, clock):
        tally = tm.Tally()
        request = tm.Request(tally, scoped=True)
        assert tally.in_flight() == 1
        request.end(None)
        assert tally.in_flight() == 0
        assert not any(tally.ended.values())

    def test_reasons_without_end_need_no_memory_without_end(self, clock):
        tally = tm.Tally()
        for i in range(1000):
            request = self.submitted(tally)
            request.saw(self.output(1, finished=True, reason="reason %d" % i))
            request.end(None)
        assert len(tally.ended) <= 33
        assert sum(tally.ended.values()) == 1000


class TestEngineGauges:
    def test_an_iteration_has_the_words_of_the_backend(self):
        assert gauges(busy(row())) == {
            ("nv_trt_llm_request_metrics", "active"): 6,
            ("nv_trt_llm_request_metrics", "max"): 8,
            ("nv_trt_llm_request_metrics", "scheduled"): 4,
            ("nv_trt_llm_request_metrics", "context"): 1,
            ("nv_trt_llm_request_metrics", "waiting"): 2,
            ("nv_trt_llm_runtime_memory_metrics", "cpu"): 0,
            ("nv_trt_llm_runtime_memory_metrics", "gpu"): 14 * GIB,
            ("nv_trt_llm_runtime_memory_metrics", "pinned"): 0,
            ("nv_trt_llm_kv_cache_block_metrics", "max"): 64,
            ("nv_trt_llm_kv_cache_block_metrics", "free"): 48,
            ("nv_trt_llm_kv_cache_block_metrics", "used"): 16,
            ("nv_trt_llm_kv_cache_block_metrics", "tokens_per"): 32,
            ("nv_trt_llm_kv_cache_block_metrics", "reused"): 5,
            ("nv_trt_llm_kv_cache_block_metrics", "fraction"): 0.25,
            ("nv_trt_llm_inflight_batcher_metrics", "total_context_tokens"): 100,
            ("nv_trt_llm_inflight_batcher_metrics", "generation_requests"): 3,
            ("nv_trt_llm_inflight_batcher_metrics", "micro_batch_id"): 0,
            ("nv_trt_llm_inflight_batcher_metrics", "paused_requests"): 2,
            ("nv_trt_llm_general_metrics", "timestamp"): pytest.approx(tm.time.time() * 1e6, abs=600e6),
            ("nv_trt_llm_general_metrics", "iteration_counter"): 7,
        }

    def test_requests_are_gone_with_the_last_of_them_whatever_the_last_iteration_said(self):
        tally = busy(row())
        assert tm.waiting(tally) == 3 + 2
        tally.gone = 1
        found = gauges(tally)
        assert tm.waiting(tally) == 0
        assert {value: found["nv_trt_llm_request_metrics", value] for value in ("active", "max", "scheduled", "context", "waiting")} == {
            "active": 0, "max": 8, "scheduled": 0, "context": 0, "waiting": 0}
        assert found["nv_trt_llm_kv_cache_block_metrics", "used"] == 16, "the cache keeps what it has"

    def test_what_the_engine_does_not_say_is_not_there(self):
        tally = busy(row(kvCacheStats=None, inflightBatchingStats={"numScheduledRequests": 3}, gpuMemUsage=None))
        known = {key for key, number in gauges(tally).items() if number is not None}
        assert not {name for name, _ in known} & {"nv_trt_llm_kv_cache_block_metrics", "nv_trt_llm_inflight_batcher_metrics"}
        assert ("nv_trt_llm_runtime_memory_metrics", "gpu") not in known
        assert ("nv_trt_llm_request_metrics", "context") not in known
        assert ("nv_trt_llm_request_metrics", "waiting") in known
        assert tm.waiting(busy({"iter": 1})) is None

    def test_a_cache_without_blocks_is_empty(self):
        assert gauges(busy(row(kvCacheStats={"maxNumBlocks": 0, "usedNumBlocks": 0})))["nv_trt_llm_kv_cache_block_metrics", "fraction"] == 0

    def test_ranks_with_requests_of_their_own_add_up(self):
        tally = busy(row(rank=0, iteration=1), row(rank=1, iteration=1), row(rank=0, active=2, scheduled=2), row(rank=1))
        found = gauges(tally)
        assert found["nv_trt_llm_request_metrics", "active"] == 2 + 6
        assert found["nv_trt_llm_kv_cache_block_metrics", "max"] == 128
        assert found["nv_trt_llm_kv_cache_block_metrics", "tokens_per"] == 32
        assert found["nv_trt_llm_general_metrics", "iteration_counter"] == 7
        assert tally.iterations == 2
        assert tally.preempted == 8


class TestBoard:
    @pytest.fixture
    def board(self, page):
        self.problems = []
        return tm.Board({"model": "m", "version": "1"}, lambda where, error: self.problems.append((where, str(error))))

    def test_a_counter_goes_where_its_total_is(self, board, page):
        for total, shown in ((0, 0), (5, 5), (5, 5), (9, 9), (2, 9), (3, 10)):  # 2: it has begun again.
            board.count("nv_llmapi_iterations_total", total)
            assert page.value("nv_llmapi_iterations_total") == shown

    def test_a_counter_of_a_model_that_was_loaded_again_goes_on(self, board, page):
        board.count("nv_llmapi_iterations_total", 5)
        again = tm.Board({"model": "m", "version": "1"}, None)
        again.count("nv_llmapi_iterations_total", 0)
        again.count("nv_llmapi_iterations_total", 3)
        assert page.value("nv_llmapi_iterations_total") == 8

    def test_what_is_not_known_has_no_series(self, board, page):
        board.set("nv_llmapi_requests_waiting", None)
        board.count("nv_llmapi_kv_cache_missed_blocks_total", None)
        assert not page.values

    def test_buckets_are_cumulative_and_at_no_moment_below_a_lower_one(self, board, page, monkeypatch):
        histogram = tm.Histogram((0.1, 1, 10))
        seen = []
        monkeypatch.setattr(tm.time, "sleep", lambda _: seen.append(
            [page.values.get(("h_bucket", (("le", le), ("model", "m"), ("version", "1"))), 0) for le in ("0.1", "1", "10", "+Inf")]))
        for part in ("_bucket", "_sum", "_count"):
            board._create("h" + part, "COUNTER", "text")
        for value in (0.05, 0.5, 0.7, 100):
            histogram.observe(value)
            board.count_histogram("h", histogram)
        assert seen[-1] == [1, 3, 3, 4]
        assert all(buckets == sorted(buckets) for buckets in seen)
        assert page.value("h_count") == 4
        assert page.value("h_sum") == pytest.approx(101.25)

    def test_one_family_that_can_not_be_had_does_not_cost_the_others(self, page):
        MetricFamily("nv_llmapi_iterations_total", "someone else's", "gauge")
        problems = []
        board = tm.Board({"model": "m", "version": "1"}, lambda where, error: problems.append(where))
        board.count("nv_llmapi_iterations_total", 1)
        board.set("nv_llmapi_requests_in_flight", 2)
        assert problems == ["creating nv_llmapi_iterations_total"]
        assert page.value("nv_llmapi_requests_in_flight") == 2

    def test_a_write_that_fails_is_tried_again(self, board, page, monkeypatch):
        with monkeypatch.context() as broken:
            broken.setattr(Metric, "increment", lambda *_: 1 / 0)
            board.count("nv_llmapi_iterations_total", 4)
        assert self.problems == [("writing nv_llmapi_iterations_total", "division by zero")]
        board.count("nv_llmapi_iterations_total", 4)
        assert page.value("nv_llmapi_iterations_total") == 4

    def test_nothing_that_looks_like_a_present_is_left(self, board, page):
        board.set("nv_llmapi_requests_in_flight", 2)
        board.set("nv_trt_llm_request_metrics", 3, request_type="active")
        board.count("nv_llmapi_iterations_total", 5)
        board.clear()
        assert page.value("nv_llmapi_requests_in_flight") == 0
        assert page.value("nv_trt_llm_request_metrics", request_type="active") == 0
        assert page.value("nv_llmapi_iterations_total") == 5


@pytest.mark.parametrize(("groups", "instance"), [
    ([], None),
    ([{"count": 1, "gpus": []}], None),
    ([{"count": 2, "gpus": []}], "m_0_1"),
    ([{"count": 1, "gpus": [0, 1]}], "m_0_1"),
    ([{"count": 1}, {"count": 1}], "m_0_1"),
])
def test_the_instance_is_a_label_where_there_are_several(groups, instance):
    labels = tm.labels_of({
        "model_name": "m", "model_version": "3", "model_instance_name": "m_0_1", "model_config": json.dumps({"instance_group": groups})})
    assert labels == {"model": "m", "version": "3", **({"model_instance": instance} if instance else {})}
