"""Stands in for tensorrt_llm where there is no GPU: an LLM that batches in flight, and tells the truth about it in a file.

Its engine is the executor of the other models here. What the real package leaves open to a reader of statistics it does in
each of its ways (`statistics` in model.yaml): `queue`, as 1.0: one result for ever, which is over after a silence until the
next request; `rpc`, as 1.1 and 1.2: the call itself waits for another process; `fetch`, as later: only iterating waits.

Words of a prompt make things happen: `!boom` fails at once, `!fail:N` after N tokens, `!stop:N` ends with reason stop after
N, `!timeout:N` with reason timeout, `!freeze:MS` holds the engine for so long, `!die` ends it.
"""

import asyncio
import json
import os
import sys
import threading
import time
from collections import deque

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

from executor import Executor, Request  # noqa: E402
from kvcache import KVCache  # noqa: E402

__version__ = "1.0.0+standin"


class RequestError(RuntimeError):
    """A request failed inside the engine."""


class SamplingParams:
    def __init__(self, max_tokens=16):
        if max_tokens < 1:
            raise ValueError("max_tokens must be greater than 0")
        self.max_tokens = max_tokens


class CompletionOutput:
    def __init__(self):
        self.index, self.text, self.token_ids = 0, "", []
        self.finish_reason = self.stop_reason = self.cumulative_logprob = None


class RequestOutput:
    """A request's result, which is also each of its outputs: it grows from one step of its iteration to the next."""

    def __init__(self, prompt, wanted, streaming, orders):
        self.prompt, self.prompt_token_ids = prompt, [hash(word) for word in prompt.split()]
        self.outputs, self.finished = [CompletionOutput()], False
        self._wanted, self._streaming, self._orders = wanted, streaming, orders
        self._steps, self._loop = asyncio.Queue(), asyncio.get_running_loop()
        self._aborted = False
        self.arrival_time_ns, self.first_scheduled_time_ns, self.first_token_time_ns = time.monotonic_ns(), 0, 0

    def abort(self):
        self._aborted = True

    def __aiter__(self):
        return self

    async def __anext__(self):
        while not self.finished:
            token, reason, error = await self._steps.get()
            if error:
                raise error
            output = self.outputs[0]
            if token:
                output.token_ids.append(token)
                output.text += " token%d" % token
            self.finished, output.finish_reason = reason is not None, reason
            if self._streaming or self.finished:
                return self
        raise StopAsyncIteration

    # The executor's side: its thread calls these.

    def token(self, index):
        self.first_token_time_ns = self.first_token_time_ns or time.monotonic_ns()
        for order, reason in (("!stop", "stop"), ("!timeout", "timeout")):
            if self._orders.get(order) == index:
                self._step(index, reason)
                return False
        if self._orders.get("!fail") == index:
            self._step(None, error=RequestError("the forward step failed"))
            return False
        if self._aborted:
            self._step(index, "cancelled")
            return False
        self._step(index, "length" if index >= self._wanted else None)
        return True

    def finish(self, prompt_tokens, generated_tokens):
        pass

    def fail(self, error):
        self._step(None, error=error)

    def _step(self, token, reason=None, error=None):
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._steps.put_nowait, (token, reason, error))


class Engine(Executor):
    """The executor with the statistics of the PyTorch backend, and with faults."""

    def __init__(self, args):
        cache = KVCache(args["kv_blocks"], args["tokens_per_block"])
        super().__init__(cache, args["slots"], args["max_active_requests"], args["iteration_ms"] / 1000)
        self.rows = deque(maxlen=1000) if args["enable_iter_perf_stats"] else None
        self.queue_limit, self.dead, self.hold_until = args["max_queue_size"], None, 0.0
        self._truth = open(args["truth"], "a", buffering=1) if args["truth"] else None
        self._missed = self._tokens = 0

    def submit(self, request):
        if self.dead:
            raise self.dead
        if len(self._hidden) >= self.queue_limit:
            raise RequestError("Maximum queue size of %d has been reached" % self.queue_limit)
        super().submit(request)

    def _schedule(self):
        reused = self.cache.reused
        stats, batch = super()._schedule()
        if stats.context:  # Blocks of the prompts that came in, less those that were there.
            entered = [request for request in batch if request.produced == 0]
            for request in entered:
                request.sink.first_scheduled_time_ns = request.sink.first_scheduled_time_ns or time.monotonic_ns()
            blocks = sum(len(request.prompt) // self.cache.tokens_per for request in entered)
            self._missed += blocks - (self.cache.reused - reused)
        self._report(stats, batch)
        return stats, batch

    def _iterate(self, due):
        while time.monotonic() < self.hold_until:
            time.sleep(0.01)
        if not self.dead:
            super()._iterate(due)
            return
        with self._wake:
            lost = [*self._active, *self._hidden]
            self._active, self._stopped = [], True
            self._hidden.clear()
        for request in lost:
            request.sink.fail(self.dead)

    def _report(self, stats, batch):
        self._tokens += len(batch)
        row = {
            "iter": stats.iteration_counter, "timestamp": "", "iterLatencyMS": self._pace * 1000,
            "numActiveRequests": stats.active, "numQueuedRequests": len(self._hidden), "maxNumActiveRequests": self.max_active,
            "gpuMemUsage": 15032385536, "cpuMemUsage": 0, "pinnedMemUsage": 0,
            "kvCacheStats": {
                "maxNumBlocks": self.cache.max, "freeNumBlocks": self.cache.max - stats.kv_used, "usedNumBlocks": stats.kv_used,
                "tokensPerBlock": self.cache.tokens_per, "reusedBlocks": stats.kv_reused, "missedBlocks": self._missed},
            "inflightBatchingStats": {
                "numScheduledRequests": stats.scheduled, "numContextRequests": stats.context,
                "numGenRequests": stats.generation_requests, "numPausedRequests": stats.paused_requests,
                "numCtxTokens": stats.total_context_tokens, "microBatchId": 0},
        }
        if self._truth:
            self._truth.write(json.dumps({"time": time.time(), "tokens": self._tokens, **row}) + "\n")
        if self.rows is not None:
            self.rows.append(row)


class LLM:
    def __init__(self, **args):
        self.args = args
        self._engine = Engine(args)
        self._statistics = {"queue": QueuedStatistics, "rpc": RemoteStatistics, "fetch": FetchedStatistics}[args["statistics"]](self._engine)
        self._engine.start()

    def generate_async(self, inputs, sampling_params=None, lora_request=None, streaming=False):
        orders = dict(word.split(":") if ":" in word else (word, "0") for word in inputs.split() if word.startswith("!"))
        orders = {order: int(number) for order, number in orders.items()}
        if "!boom" in orders:
            raise RuntimeError("boom")
        result = RequestOutput(inputs, sampling_params.max_tokens, streaming, orders)
        if len(result.prompt_token_ids) > self.args["max_input_len"]:
            raise ValueError("The sum of prompt length (%d) and query length (0) should not exceed max_num_tokens (%d)"
                             % (len(result.prompt_token_ids), self.args["max_input_len"]))
        self._statistics.expect()
        self._engine.submit(Request(tuple(result.prompt_token_ids), sampling_params.max_tokens, result))
        if "!freeze" in orders:
            self._engine.hold_until = time.monotonic() + orders["!freeze"] / 1000
        if "!die" in orders:
            self._engine.dead = RuntimeError("the executor process is gone")
        return result

    def get_stats_async(self, timeout=2):
        return self._statistics.read(timeout)

    def shutdown(self):
        self._engine.stop()


class Rows:
    """An asynchronous iterator over rows that ends after a silence."""

    def __init__(self, rows, timeout):
        self.rows, self.timeout, self._done = rows, timeout, False

    def __aiter__(self):
        return self

    async def __anext__(self):
        end = time.monotonic() + self.timeout
        while not self._done:
            if self.rows:
                return self.rows.popleft()
            self._done = time.monotonic() >= end
            await asyncio.sleep(0.01)
        raise StopAsyncIteration


class QueuedStatistics:
    """One result for ever. It is over after a silence, and all later readers get nothing, until a request is expected."""

    def __init__(self, engine):
        self._engine, self._result = engine, None

    def expect(self):
        if self._result is None:
            self._result = self.Result(self._rows(), 2)
        self._result.mark_undone()

    def _rows(self):
        return self._engine.rows if self._engine.rows is not None else deque()

    def read(self, timeout):
        if self._result is None:
            print("Iteration statistics are not available yet.", file=sys.stderr, flush=True)
            return Rows(deque(), 0)
        self._result.timeout = timeout
        return self._result

    class Result(Rows):
        def mark_undone(self):
            self._done = False


class RemoteStatistics(QueuedStatistics):
    """The call waits for another process, whatever else its thread could do."""

    def _rows(self):
        return deque()

    def read(self, timeout):
        end = time.monotonic() + timeout
        while not super()._rows() and time.monotonic() < end and not self._engine.dead:
            time.sleep(timeout)
        self.expect()
        while super()._rows():
            self._result.rows.append(super()._rows().popleft())
        return super().read(timeout)


class FetchedStatistics(QueuedStatistics):
    """Only iterating waits, and fails when the engine has died."""

    def expect(self):
        pass

    def read(self, timeout):
        return self._fetch(timeout)

    async def _fetch(self, timeout):
        if self._engine.dead:
            raise self._engine.dead
        async for row in Rows(self._rows(), timeout):
            yield row


def global_mpi_rank():
    return 0
