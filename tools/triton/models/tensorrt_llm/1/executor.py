"""In-flight batching in one thread, as the TensorRT-LLM executor does it, without a model.

Requests wait in a hidden queue until the active list has room; of the active list up to `slots` requests take part in an
iteration; each iteration gives each of them one token. A request that finds no KV block for its next token makes the youngest
pause, which starts again from its prompt and what it had produced.
"""

import threading
import time
from collections import deque
from dataclasses import dataclass, field


@dataclass
class Request:
    prompt: tuple
    max_tokens: int
    sink: object  # token(index), finish(), cancelled()
    produced: int = 0
    blocks: int = 0
    running: bool = False


@dataclass
class Stats:
    """One iteration, in the words of the backend's own statistics."""

    active: int = 0
    scheduled: int = 0
    context: int = 0
    total_context_tokens: int = 0
    generation_requests: int = 0
    paused_requests: int = 0
    iteration_counter: int = 0
    kv_used: int = 0
    kv_reused: int = 0
    time: float = field(default_factory=time.time)


class Executor:
    def __init__(self, cache, slots, max_active, iteration_seconds):
        self.cache, self.slots, self.max_active = cache, slots, max_active
        self.stats = Stats()
        self._pace = iteration_seconds
        self._hidden, self._active = deque(), []
        self._wake = threading.Condition()
        self._stopped = False
        self._iterations = 0
        self._thread = threading.Thread(target=self._run, name="executor", daemon=True)

    def start(self):
        self._thread.start()

    def stop(self):
        with self._wake:
            self._stopped = True
            self._wake.notify()
        self._thread.join()

    def submit(self, request):
        """Queue a request; refuse one that the whole cache could not hold."""
        if self.cache.blocks_of(len(request.prompt) + request.max_tokens) > self.cache.max:
            raise ValueError("the request needs more KV cache blocks than there are")
        with self._wake:
            self._hidden.append(request)
            self._wake.notify()

    def _run(self):
        due = time.monotonic()
        while True:
            with self._wake:
                idle = not self._hidden and not self._active
                if idle:
                    self._wake.wait_for(lambda: self._hidden or self._stopped)
                    due = time.monotonic()
                if self._stopped:
                    return
                while self._hidden and len(self._active) < self.max_active:
                    self._active.append(self._hidden.popleft())
            due = max(due + self._pace, time.monotonic())
            self._iterate(due)

    def _iterate(self, due):
        stats, batch = self._schedule()
        time.sleep(max(0.0, due - time.monotonic()))
        for request in batch:
            request.produced += 1
            if not request.sink.token(request.produced):
                request.max_tokens = request.produced  # The client left.
        done = [request for request in batch if request.produced >= request.max_tokens]
        for request in done:
            self._release(request)
            self._active.remove(request)
            request.sink.finish(len(request.prompt), request.produced)
        if not self._active and not self._hidden:  # One more record tells that the list is empty.
            stats = self._record(Stats())
        self.stats = stats

    def _schedule(self):
        """Choose the requests of the next iteration, the oldest first, and give them blocks for one token more."""
        stats, batch = Stats(), []
        for place, request in enumerate(self._active):
            if len(batch) == self.slots or not self._grow(place, stats):
                break
            if not request.running:
                request.running = True
                stats.context += 1
                reused = self.cache.note_prompt(request.prompt) * self.cache.tokens_per
                stats.total_context_tokens += max(1, len(request.prompt) + request.produced - reused)
            batch.append(request)
        stats.scheduled = len(batch)
        stats.generation_requests = stats.scheduled - stats.context
        return self._record(stats), batch

    def _grow(self, place, stats):
        """Get the blocks for one more token; where none are free the youngest running request pauses, at last this one."""
        request = self._active[place]
        wanted = self.cache.blocks_of(len(request.prompt) + request.produced + 1) - request.blocks
        while not self.cache.take(wanted):
            running = [other for other in self._active[place:] if other.running]
            if not running:
                return False
            self._release(running[-1])
            stats.paused_requests += 1
            if running[-1] is request:
                return False
        request.blocks += wanted
        return True

    def _release(self, request):
        self.cache.give_back(request.blocks)
        request.blocks, request.running = 0, False

    def _record(self, stats):
        self._iterations += 1
        stats.iteration_counter = self._iterations
        stats.active = len(self._active)
        stats.kv_used, stats.kv_reused = self.cache.used, self.cache.reused
        return stats
