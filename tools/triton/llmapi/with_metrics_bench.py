"""What the metrics module costs: `make bench-llmapi` prints it. Needs a quiet machine, and judges nothing."""

import asyncio
import time

import trtllm_metrics as tm
from with_metrics_test import stream


class Steps:
    """A result whose steps cost nothing."""

    def __init__(self, steps):
        self.outputs, self.finished, self._steps, self._step = [self], False, steps, 0
        self.token_ids, self.finish_reason = [], "length"

    def __aiter__(self):
        return self

    async def __anext__(self):
        if self._step == self._steps:
            raise StopAsyncIteration
        self._step += 1
        self.token_ids.append(1)
        return self


def bench_token():
    """The processor's time for a token, of the process alone."""
    tokens = 20000

    def microseconds(result):
        async def read():
            begin = time.thread_time()
            async for _ in result:
                pass
            return time.thread_time() - begin

        return asyncio.run(read()) / tokens * 1e6

    def watched():
        request = tm.Request(tm.Tally(), scoped=True)
        request.submitted = request.streaming = True
        return tm.Watched(Steps(tokens), request, None)

    plain, with_metrics = (min(microseconds(make()) for _ in range(15)) for make in (lambda: Steps(tokens), watched))
    print("a token costs %.2f microseconds, %.2f without the module" % (with_metrics, plain))


def bench_throughput(page, load, monkeypatch):
    """Six pairs of runs, alternating, of an engine that makes 400 tokens a second by the clock."""
    monkeypatch.setattr(tm, "PERIOD", 1.0)

    def rate(wrap):
        model = load(wrap, iteration_ms=10)
        requests = [stream(4, 75) for _ in range(8)]
        begin = time.monotonic()
        model.execute(requests)
        for request in requests:
            request.wait()
        took = time.monotonic() - begin
        model.unload()
        return 8 * 75 / took

    without, with_metrics = [], []
    for _ in range(6):
        without.append(rate(None))
        with_metrics.append(rate(tm.with_metrics))
    print("tokens a second without and with the module:", [["%.1f" % one for one in runs] for runs in (without, with_metrics)])
