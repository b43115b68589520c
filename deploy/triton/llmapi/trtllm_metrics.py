"""Puts the numbers of TensorRT-LLM on Triton's metrics port for the LLM-API backend, which publishes none itself.

It wraps the backend's TritonPythonModel from outside; README.md beside this file says how it is installed. Serving comes
first: whatever fails in here is caught, counted and logged once, and a token costs a counter and a clock. The engine's event
loop only changes plain numbers. One thread writes them to Triton, because each write is a message to the server's process;
another asks the engine for its statistics, because that may wait.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import json
import re
import sys
import threading
import time
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Coroutine, Iterator, Mapping
from concurrent.futures import Future
from contextvars import ContextVar
from typing import Any

import triton_python_backend_utils as pb_utils

MODULE_VERSION = "1"
PERIOD = 1.0  # Seconds between two rounds of reading the engine and writing to Triton.
POLL = 0.1  # Seconds that one look for iteration statistics may wait for the first, and after the last.
QUIET_ROUNDS = 15  # With requests but no statistics for so many rounds, the log says which setting is missing.
GOODBYE = 3.0  # Seconds that unloading the model waits for each of the threads at most.

# The latencies' bounds are those of trtllm-serve where it has the same histogram, so that both can be added up.
HISTOGRAMS: dict[str, tuple[str, tuple[float, ...]]] = {
    "nv_llmapi_time_to_first_token_seconds": (
        "Time from the arrival of a streamed request to its first token.",
        (0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560),
    ),
    "nv_llmapi_inter_token_latency_seconds": (
        "Time between two tokens of a streamed request; tokens that come together share their gap.",
        (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5, 5, 10, 20, 40, 80),
    ),
    "nv_llmapi_request_duration_seconds": (
        "Time from the arrival of a request of class ok to its last token.",
        (0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680),
    ),
}
# Names, labels and texts up to nv_llm_output_token_len are those of the C++ backend (custom_metrics_reporter.cc).
FAMILIES: dict[str, tuple[str, str]] = {
    "nv_trt_llm_request_metrics": ("GAUGE", "TRT LLM request metrics"),
    "nv_trt_llm_runtime_memory_metrics": ("GAUGE", "TRT LLM runtime memory metrics"),
    "nv_trt_llm_kv_cache_block_metrics": ("GAUGE", "TRT LLM KV cache block metrics"),
    "nv_trt_llm_inflight_batcher_metrics": ("GAUGE", "TRT LLM inflight_batcher-specific metrics"),
    "nv_trt_llm_general_metrics": ("GAUGE", "General TRT LLM metrics"),
    "nv_llm_input_token_len": ("HISTOGRAM", "TRT LLM response metrics"),
    "nv_llm_output_token_len": ("HISTOGRAM", "TRT LLM response metrics"),
    "nv_llmapi_info": ("GAUGE", "Versions of the metrics module and of TensorRT-LLM; 0 when the model is unloaded."),
    "nv_llmapi_heartbeat_timestamp_seconds": (
        "GAUGE", "When the metrics module last read the engine, idle or not; numbers are frozen where it stands still."),
    "nv_llmapi_requests_in_flight": ("GAUGE", "Requests that have arrived and not ended, counted at the server."),
    "nv_llmapi_requests_waiting": (
        "GAUGE", "Requests that the engine has and did not schedule in its last iteration, its queue included."),
    "nv_llmapi_iterations_total": ("COUNTER", "Iterations of the engine whose statistics were read."),
    "nv_llmapi_generation_tokens_total": (
        "COUNTER", "Generated tokens, as they come for streamed requests and at the end for others."),
    "nv_llmapi_prompt_tokens_total": ("COUNTER", "Tokens of prompts, counted with a request's first output."),
    "nv_llmapi_prefill_tokens_total": ("COUNTER", "Tokens that context requests computed, added up over iterations."),
    "nv_llmapi_requests_ended_total": ("COUNTER", "Requests that ended, by class and by the engine's finish reason."),
    "nv_llmapi_requests_preempted_total": ("COUNTER", "Requests that an iteration paused, added up over iterations."),
    "nv_llmapi_kv_cache_reused_blocks_total": ("COUNTER", "KV cache blocks that were found in the cache."),
    "nv_llmapi_kv_cache_missed_blocks_total": ("COUNTER", "KV cache blocks that were looked for and not found."),
    "nv_llmapi_module_errors_total": ("COUNTER", "Errors inside the metrics module; each kind is in Triton's log once."),
}
TOKEN_LENGTH_BOUNDS = [10.0, 50.0, 100.0, 500.0, 1000.0]

# What the engine calls the end of a request, and whose doing it was. An exception says so by its words at best.
CLASSES = {"stop": "ok", "length": "ok", "not_finished": "ok", "cancelled": "canceled", "timeout": "overload"}
OVERLOADED = re.compile("queue is full|maximum queue size|too many requests|overload", re.IGNORECASE)
ASKED_TOO_MUCH = re.compile("should not exceed|too long|exceeds the max", re.IGNORECASE)


class Histogram:
    """Counts observations by upper bound."""

    __slots__ = ("bounds", "counts", "sum")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def observe(self, value: float, times: int = 1) -> None:
        self.counts[bisect_left(self.bounds, value)] += times
        self.sum += value * times


class Tally:
    """All that was counted since the model was loaded. Only the engine's event loop changes it, but for `accepted`."""

    def __init__(self) -> None:
        self.accepted = self.gone = 0
        self.prompt_tokens = self.generation_tokens = 0
        self.ended = dict.fromkeys(
            [("ok", "stop"), ("ok", "length"), ("canceled", "cancelled"), ("client", "error"), ("overload", "error"), ("server", "error")], 0)
        self.histograms = {name: Histogram(bounds) for name, (_, bounds) in HISTOGRAMS.items()}
        self.first_token, self.between_tokens, self.duration = self.histograms.values()
        self.lengths: deque[tuple[int, int]] = deque(maxlen=10000)  # Of ended requests, until they are written.
        self.submitted = False  # The engine has had a request, so it can have statistics.
        self.beat = 0.0
        self.iterations = self.prefill_tokens = self.preempted = 0
        self.iterated = 0.0
        self.rows: dict[int, Mapping[str, Any]] = {}  # The newest statistics of each rank; with attention DP each has its own.
        self.errors = 0

    def in_flight(self) -> int:
        return max(0, self.accepted - self.gone)

    def iterate(self, row: Mapping[str, Any]) -> None:
        """Take the statistics of one iteration."""
        batch = row.get("inflightBatchingStats") or {}
        self.prefill_tokens += batch.get("numCtxTokens") or 0
        self.preempted += batch.get("numPausedRequests") or 0
        rank = row.get("attentionDpRank") or 0
        self.iterations += rank == 0
        self.rows[rank] = row
        self.iterated = time.time()

    def total(self, group: str | None, key: str) -> float | None:
        """A number of the newest statistics, over all ranks; None where the engine does not say it."""
        groups = [(row.get(group) or {}) if group else row for row in list(self.rows.values())]
        known = [row[key] for row in groups if row.get(key) is not None]
        return sum(known) if known else None

    def newest(self, group: str | None, key: str) -> float | None:
        """A number that is the same on all ranks."""
        row = self.rows.get(0, {})
        return ((row.get(group) or {}) if group else row).get(key)


class Request:
    """One request from its arrival to its last response."""

    __slots__ = ("_tally", "arrived", "last", "prompt", "tokens", "streaming", "scoped", "submitted", "finished", "reason", "error", "ended")

    def __init__(self, tally: Tally, scoped: bool) -> None:
        self._tally = tally
        self.arrived = self.last = time.monotonic()
        self.scoped = scoped  # Someone waits for its end; else its last output is its end.
        self.prompt = self.tokens = 0
        self.streaming = self.submitted = self.ended = False
        self.finished = 0.0
        self.reason, self.error = "", None
        tally.accepted += 1

    def saw(self, output: Any) -> None:
        """Look at an output on its way to the client. This is the path of a token."""
        now = time.monotonic()
        outputs = output.outputs
        count = len(outputs[0].token_ids) if len(outputs) == 1 else sum(len(one.token_ids) for one in outputs)
        fresh = count - self.tokens
        if fresh > 0:
            tally = self._tally
            tally.generation_tokens += fresh
            if self.tokens:
                tally.between_tokens.observe((now - self.last) / fresh, fresh)
            else:
                tally.prompt_tokens += self.prompt
                if self.streaming or not output.finished:
                    tally.first_token.observe(now - self.arrived)
            self.tokens, self.last = count, now
        if output.finished:
            self.finished = now
            self.reason = str(outputs[0].finish_reason or "unknown")
            self.error = getattr(output, "error", None)

    def end(self, error: BaseException | None) -> None:
        """Count the request as ended, once."""
        if self.ended:
            return
        self.ended = True
        tally = self._tally
        tally.gone += 1
        if error is None and not self.submitted:
            return  # It only asked for another request to stop.
        if self.finished and not self.tokens:
            tally.prompt_tokens += self.prompt
        if self.submitted:
            tally.lengths.append((self.prompt, self.tokens))
        kind, reason = self._outcome(error)
        if (kind, reason) not in tally.ended and len(tally.ended) >= 32:
            reason = "other"
        tally.ended[kind, reason] = tally.ended.get((kind, reason), 0) + 1
        if kind == "ok":
            tally.duration.observe((self.finished or time.monotonic()) - self.arrived)

    def _outcome(self, error: BaseException | None) -> tuple[str, str]:
        if isinstance(error, (asyncio.CancelledError, StopAsyncIteration)):
            error = None
        if error is None and self.error:
            error = RuntimeError(self.error)
        if error is not None:
            return self._blame(error), "error"
        reason = self.reason or "cancelled"
        return CLASSES.get(reason, "ok"), reason

    def _blame(self, error: BaseException) -> str:
        if OVERLOADED.search(str(error)):
            return "overload"
        refused = not self.submitted and isinstance(error, (ValueError, TypeError, pb_utils.TritonModelException))
        return "client" if refused or ASKED_TOO_MUCH.search(str(error)) else "server"


# The request that the running task of the event loop works for.
CURRENT: ContextVar[Request | None] = ContextVar("trtllm_metrics_request", default=None)


class Watched:
    """The engine's result of a request, which tells the request of each output that passes."""

    def __init__(self, result: Any, request: Request, failed: Callable[[str, BaseException], None]) -> None:
        self._result, self._request, self._failed = result, request, failed

    def __getattr__(self, name: str) -> Any:
        return getattr(self._result, name)

    def __await__(self) -> Any:
        return self._result.__await__()

    def __aiter__(self) -> Watched:
        self._next = self._result.__aiter__().__anext__
        return self

    async def __anext__(self) -> Any:
        request = self._request
        try:
            output = await self._next()
        except BaseException as error:
            if not request.scoped:
                request.end(error)
            raise
        try:
            request.saw(output)
        except Exception as error:
            self._failed("an output", error)
        return output


class Board:
    """The series on Triton's page."""

    def __init__(self, labels: dict[str, str], failed: Callable[[str, BaseException], None]) -> None:
        self._labels, self._failed = labels, failed
        self._families: dict[str, Any] = {}  # Kept to the end: a family that is collected takes its series off the page.
        self._metrics: dict[tuple[str, ...], Any] = {}
        self._counted: dict[tuple[str, ...], float] = {}
        for name, (kind, text) in FAMILIES.items():
            self._create(name, kind, text)
        # Triton's own histograms cost a message an observation, and its releases before 24.08 have none. Counters with
        # the label le cost the same at any load, and every query reads them as a histogram.
        for name, (text, _) in HISTOGRAMS.items():
            for part in ("_bucket", "_sum", "_count"):
                self._create(name + part, "COUNTER", text)

    def _create(self, name: str, kind: str, text: str) -> None:
        try:
            kinds = pb_utils.MetricFamily
            if hasattr(kinds, kind):
                self._families[name] = kinds(name=name, description=text, kind=getattr(kinds, kind))
        except Exception as error:
            self._failed("creating " + name, error)

    def _write(self, name: str, labels: Mapping[str, str], write: Callable[[Any], None], **options: Any) -> None:
        """Change one series; one that can not be had does not cost the others."""
        if name not in self._families:
            return
        key = (name, *labels.values())
        try:
            if key not in self._metrics:
                self._metrics[key] = self._families[name].Metric(labels={**self._labels, **labels}, **options)
            write(self._metrics[key])
        except Exception as error:
            self._failed("writing " + name, error)
        time.sleep(0)  # A message holds the interpreter; let the event loop run between two.

    def set(self, name: str, value: float | None, **labels: str) -> None:
        """Set a gauge; what is not known has no series."""
        if value is not None:
            self._write(name, labels, lambda metric: metric.set(float(value)))

    def count(self, name: str, total: float | None, **labels: str) -> None:
        """Bring a counter up to a total of this process. A total that fell has begun again."""
        key = (name, *labels.values())
        before = self._counted.get(key)
        if total is None or total == before:
            return

        def raise_to(metric: Any) -> None:
            if total > (before or 0):
                metric.increment(float(total - (before or 0)))
            self._counted[key] = total

        self._write(name, labels, raise_to)

    def count_histogram(self, name: str, histogram: Histogram) -> None:
        """Bring the parts up to date, the highest bucket first: none is ever below a lower one."""
        counts, total = histogram.counts[:], histogram.sum
        below = sum(counts)
        self.count(name + "_count", below)
        self.count(name + "_sum", total)
        self.count(name + "_bucket", below, le="+Inf")
        for bound, inside in zip(reversed(histogram.bounds), reversed(counts)):
            below -= inside
            self.count(name + "_bucket", below, le=f"{bound:g}")

    def observe(self, name: str, value: float, **labels: str) -> None:
        self._write(name, labels, lambda metric: metric.observe(float(value)), buckets=TOKEN_LENGTH_BOUNDS)

    def clear(self) -> None:
        """Set all gauges to 0: what stays on the page after an unload must not look like a present."""
        for (name, *_), metric in self._metrics.items():
            if FAMILIES.get(name, ("", ""))[0] == "GAUGE":
                metric.set(0.0)


class Metrics:
    """Ties one model to its numbers: hooks into its engine, reads the engine's statistics and writes to Triton."""

    def __init__(self, model: Any, args: Mapping[str, str]) -> None:
        self.tally = Tally()
        self._said: set[str] = set()
        self._board = Board(labels_of(args), self.failed)
        self._engine, self._loop = model._llm_engine, getattr(model, "_event_loop", None)
        self._reading = threading.Lock()
        self._drain: Future[None] | None = None
        self._readable = self._loop is not None and hasattr(self._engine, "get_stats_async")
        self._quiet = 0
        self._stop = threading.Event()
        self._check(model)
        if hasattr(self._engine, "generate_async"):
            self._hook(self._engine)
        # Apart, so that an engine that does not answer does not hold up what is known without it.
        self._reader = threading.Thread(target=self._repeat, args=(self._readers,), name="trtllm_metrics reader", daemon=True)
        self._writer = threading.Thread(target=self._repeat, args=(self._writers,), name="trtllm_metrics writer", daemon=True)
        self._reader.start()
        self._writer.start()

    def _check(self, model: Any) -> None:
        if not hasattr(self._engine, "generate_async"):
            self.say("the stock model's _llm_engine has no generate_async: neither tokens nor requests are counted")
        if not hasattr(model, "_execute_single_request"):
            self.say("the stock model has no _execute_single_request: requests that fail before the engine has them are not counted")
        if not self._readable:
            self.say("the stock model has no _event_loop or its engine no get_stats_async: there are no iteration statistics")
        if not hasattr(pb_utils.MetricFamily, "HISTOGRAM"):
            self.say("this Triton has no custom histograms: nv_llm_input_token_len and nv_llm_output_token_len are not there")

    def say(self, text: str) -> None:
        """Write to Triton's log, each text once."""
        if text not in self._said and len(self._said) < 100:
            self._said.add(text)
            log(text)

    def failed(self, where: str, error: BaseException) -> None:
        self.tally.errors += 1
        self.say(f"{where}: {type(error).__name__}: {str(error)[:200]}")

    # Requests.

    def follow(self, work: Coroutine[Any, Any, Any]) -> Coroutine[Any, Any, Any]:
        """Follow a request to its end; `work` is all that the stock model does about it."""
        try:
            return self._followed(work, Request(self.tally, scoped=True)) if inspect.iscoroutine(work) else work
        except Exception as error:
            self.failed("the arrival of a request", error)
            return work

    async def _followed(self, work: Coroutine[Any, Any, Any], request: Request) -> Any:
        CURRENT.set(request)
        try:
            answer = await work
        except BaseException as error:
            self._end(request, error)
            raise
        self._end(request, None)
        return answer

    def _end(self, request: Request, error: BaseException | None) -> None:
        try:
            request.end(error)
        except Exception as failure:
            self.failed("the end of a request", failure)

    def _hook(self, engine: Any) -> None:
        original = engine.generate_async

        @functools.wraps(original)
        def generate_async(*args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            try:
                given = inspect.signature(original).bind(*args, **kwargs).arguments
                return self._watch(result, bool(given.get("streaming")))
            except Exception as error:
                self.failed("a request", error)
                return result

        engine.generate_async = generate_async

    def _watch(self, result: Any, streaming: bool) -> Watched:
        request = CURRENT.get()
        if request is None or request.submitted:
            request = Request(self.tally, scoped=False)
        request.submitted, request.streaming = True, streaming
        request.prompt = len(getattr(result, "prompt_token_ids", None) or ())
        self.tally.submitted = True
        return Watched(result, request, self.failed)

    # The threads.

    def _repeat(self, steps: Callable[[], Iterator[Callable[[], None]]]) -> None:
        stopped = False
        while True:
            for step in steps():
                try:
                    step()
                except Exception as error:
                    self.failed(step.__name__.strip("_").replace("_", " "), error)
            if stopped:
                return
            stopped = self._stop.wait(PERIOD)

    def _readers(self) -> Iterator[Callable[[], None]]:
        yield self._read_statistics

    def _read_statistics(self) -> None:
        """Have the engine's event loop take what statistics there are. The engine is asked here: some releases make that a
        call to another process, for which their event loop would stand still."""
        with self._reading:
            engine, loop, drain = self._engine, self._loop, self._drain
            if engine is None or (drain is not None and not drain.done()):
                return
            if loop is None:
                self.tally.beat = time.time()
                return
            self._drain = None
            if drain is not None:
                drain.result()  # Raises what the engine raised.
            rows = None
            if self.tally.submitted and self._readable:
                rows = engine.get_stats_async(POLL)
                if hasattr(rows, "mark_undone"):
                    rows.mark_undone()  # In releases where it is over after a silence until the next request.
            taking = self._take(rows)
            try:
                self._drain = asyncio.run_coroutine_threadsafe(taking, loop)
            except RuntimeError:
                taking.close()
                raise

    async def _take(self, rows: Any) -> None:
        if rows is not None:
            async for row in rows:
                try:
                    self.tally.iterate(json.loads(row) if isinstance(row, str) else row)
                except Exception as error:
                    self.failed("statistics", error)
                self.tally.beat = time.time()
                await asyncio.sleep(0)  # Tokens go first.
        self.tally.beat = time.time()

    def _writers(self) -> Iterator[Callable[[], None]]:
        yield self._write_own
        yield self._write_lengths
        if self.tally.rows:
            yield self._write_engine
        if self._stop.is_set():
            yield self._board.clear

    def _write_own(self) -> None:
        tally, count, gauge = self.tally, self._board.count, self._board.set
        gauge("nv_llmapi_info", 1, module_version=MODULE_VERSION, tensorrt_llm_version=tensorrt_llm_version())
        gauge("nv_llmapi_heartbeat_timestamp_seconds", tally.beat)
        gauge("nv_llmapi_requests_in_flight", tally.in_flight())
        count("nv_llmapi_iterations_total", tally.iterations)
        count("nv_llmapi_generation_tokens_total", tally.generation_tokens)
        count("nv_llmapi_prompt_tokens_total", tally.prompt_tokens)
        for (kind, reason), total in tally.ended.copy().items():
            count("nv_llmapi_requests_ended_total", total, **{"class": kind, "finish_reason": reason})
        for name, histogram in tally.histograms.items():
            self._board.count_histogram(name, histogram)
        count("nv_llmapi_module_errors_total", tally.errors)
        self._quiet = self._quiet + 1 if self._readable and tally.generation_tokens and not tally.rows else 0
        if self._quiet == QUIET_ROUNDS:
            self.say("the engine gives no iteration statistics: set enable_iter_perf_stats: true in model.yaml")

    def _write_lengths(self) -> None:
        while self.tally.lengths:
            prompt, tokens = self.tally.lengths.popleft()
            self._board.observe("nv_llm_input_token_len", prompt, response_metric_type="total_input_tokens")
            self._board.observe("nv_llm_output_token_len", tokens, response_metric_type="total_output_tokens")

    def _write_engine(self) -> None:
        tally, board = self.tally, self._board
        for name, label, values in engine_gauges(tally):
            for value, number in values.items():
                board.set(name, number, **{label: value})
        board.set("nv_llmapi_requests_waiting", waiting(tally))
        board.count("nv_llmapi_prefill_tokens_total", tally.prefill_tokens)
        board.count("nv_llmapi_requests_preempted_total", tally.preempted)
        board.count("nv_llmapi_kv_cache_reused_blocks_total", tally.total("kvCacheStats", "reusedBlocks"))
        board.count("nv_llmapi_kv_cache_missed_blocks_total", tally.total("kvCacheStats", "missedBlocks"))

    # The end.

    def leave_engine(self) -> None:
        """Let go of the engine, which is about to end."""
        try:
            engine, self._engine = self._engine, None
            vars(engine).pop("generate_async", None)
            if self._reading.acquire(timeout=GOODBYE):
                if self._drain is not None:
                    self._drain.cancel()
                self._reading.release()
        except Exception as error:
            self.failed("leaving the engine", error)

    def close(self) -> None:
        """Write the last numbers and end the threads."""
        self._stop.set()
        self._writer.join(GOODBYE)


def engine_gauges(tally: Tally) -> Iterator[tuple[str, str, dict[str, float | None]]]:
    """The C++ backend's gauges: family, category label, and a number for each of its values."""
    batch, cache = "inflightBatchingStats", "kvCacheStats"
    # The last statistics before an idle time may still have requests in them.
    busy = 1 if tally.in_flight() else 0

    def requests(group: str | None, key: str) -> float | None:
        number = tally.total(group, key)
        return None if number is None else number * busy

    active, scheduled = requests(None, "numActiveRequests"), requests(batch, "numScheduledRequests")
    yield "nv_trt_llm_request_metrics", "request_type", {
        "active": active,
        "max": tally.total(None, "maxNumActiveRequests"),
        "scheduled": scheduled,
        "context": requests(batch, "numContextRequests"),
        "waiting": None if active is None or scheduled is None else max(0, active - scheduled),
    }
    yield "nv_trt_llm_runtime_memory_metrics", "memory_type", {
        "cpu": tally.total(None, "cpuMemUsage"), "gpu": tally.total(None, "gpuMemUsage"), "pinned": tally.total(None, "pinnedMemUsage")}
    limit, used = tally.total(cache, "maxNumBlocks"), tally.total(cache, "usedNumBlocks")
    yield "nv_trt_llm_kv_cache_block_metrics", "kv_cache_block_type", {
        "max": limit,
        "free": tally.total(cache, "freeNumBlocks"),
        "used": used,
        "tokens_per": tally.newest(cache, "tokensPerBlock"),
        "reused": tally.total(cache, "reusedBlocks"),
        "fraction": None if limit is None or used is None else round(used / limit, 6) if limit else 0.0,
    }
    yield "nv_trt_llm_inflight_batcher_metrics", "inflight_batcher_specific_metric", {
        "total_context_tokens": requests(batch, "numCtxTokens"),
        "generation_requests": requests(batch, "numGenRequests"),
        "micro_batch_id": tally.newest(batch, "microBatchId"),
        "paused_requests": requests(batch, "numPausedRequests"),
    }
    yield "nv_trt_llm_general_metrics", "general_type", {
        "timestamp": int(tally.iterated * 1e6), "iteration_counter": tally.newest(None, "iter")}


def waiting(tally: Tally) -> float | None:
    """Requests that the engine has and does not run: in its queue, and active without being scheduled."""
    queued, active = tally.total(None, "numQueuedRequests"), tally.total(None, "numActiveRequests")
    scheduled = tally.total("inflightBatchingStats", "numScheduledRequests")
    if queued is None or active is None or scheduled is None:
        return None
    return queued + max(0, active - scheduled) if tally.in_flight() else 0


def labels_of(args: Mapping[str, str]) -> dict[str, str]:
    """The C++ backend's labels, and the instance where a model has several: each is a process with an engine of its own."""
    labels = {"model": args["model_name"], "version": args["model_version"]}
    groups = json.loads(args["model_config"]).get("instance_group") or []
    if sum(int(group.get("count", 1)) * max(1, len(group.get("gpus") or [])) for group in groups) > 1:
        labels["model_instance"] = args["model_instance_name"]
    return labels


def tensorrt_llm_version() -> str:
    return str(getattr(sys.modules.get("tensorrt_llm"), "__version__", "unknown"))


def log(text: str) -> None:
    try:
        pb_utils.Logger.log_warn("[trtllm_metrics] " + text)
    except Exception:
        print("[trtllm_metrics]", text, file=sys.stderr, flush=True)


def with_metrics(stock: Any) -> Any:
    """The stock model with metrics; without them where they can not be had."""

    class TritonPythonModel(stock):  # type: ignore[misc]
        _metrics: Metrics | None = None

        def initialize(self, args: Mapping[str, str]) -> None:
            super().initialize(args)
            try:
                self._metrics = Metrics(self, args)
            except Exception as error:
                log(f"there are no metrics: {type(error).__name__}: {error}")

        def finalize(self) -> None:
            metrics = self._metrics
            if metrics is not None:
                metrics.leave_engine()
            try:
                super().finalize()
            finally:
                if metrics is not None:
                    metrics.close()

    if hasattr(stock, "_execute_single_request"):

        def _execute_single_request(self: Any, request: Any) -> Any:
            work = stock._execute_single_request(self, request)
            return work if self._metrics is None else self._metrics.follow(work)

        TritonPythonModel._execute_single_request = _execute_single_request
    return TritonPythonModel
