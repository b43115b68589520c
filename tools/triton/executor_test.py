"""The executor without Triton: python3 executor_test.py."""

import os
import sys
import threading
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "models", "tensorrt_llm", "1"))

from executor import Executor, Request  # noqa: E402
from kvcache import KVCache  # noqa: E402


class Sink:
    def __init__(self, leaves_after=None):
        self.tokens, self.finished, self.leaves_after = [], threading.Event(), leaves_after

    def token(self, index):
        self.tokens.append(index)
        return index != self.leaves_after

    def finish(self, prompt_tokens, generated_tokens):
        self.counted = (prompt_tokens, generated_tokens)
        self.finished.set()


def run(executor, requests):
    """Run requests to their end and return the statistics of all iterations."""
    seen, record = [], executor._record
    executor._record = lambda stats: (seen.append(record(stats)), seen[-1])[1]
    for request in requests:
        executor.submit(request)
    executor.start()
    for request in requests:
        assert request.sink.finished.wait(60), "a request did not end"
    executor.stop()
    return seen


def request(prompt, max_tokens, **sink):
    return Request(tuple(prompt), max_tokens, Sink(**sink))


class ExecutorTest(unittest.TestCase):
    def test_more_requests_than_slots_wait_and_more_than_the_limit_hide(self):
        executor = Executor(KVCache(100, 32), slots=2, max_active=5, iteration_seconds=0)
        requests = [request(range(i, i + 10), 3) for i in range(9)]
        seen = run(executor, requests)
        self.assertEqual((seen[0].active, seen[0].scheduled, seen[0].context), (5, 2, 2))
        self.assertEqual((seen[1].scheduled, seen[1].context, seen[1].generation_requests), (2, 0, 2))
        self.assertTrue(all(stats.active <= 5 and stats.scheduled <= 2 for stats in seen))
        self.assertEqual([r.sink.tokens for r in requests], [[1, 2, 3]] * 9)
        self.assertEqual([r.sink.counted for r in requests], [(10, 3)] * 9)

    def test_the_last_record_is_empty(self):
        executor = Executor(KVCache(10, 4), slots=2, max_active=5, iteration_seconds=0)
        run(executor, [request(range(6), 5)])
        last = executor.stats
        self.assertEqual((last.active, last.scheduled, last.kv_used), (0, 0, 0))

    def test_blocks_grow_with_the_tokens(self):
        executor = Executor(KVCache(10, 4), slots=1, max_active=1, iteration_seconds=0)
        seen = run(executor, [request(range(6), 7)])
        self.assertEqual([stats.kv_used for stats in seen[:7]], [2, 2, 3, 3, 3, 3, 4])

    def test_a_full_cache_makes_the_youngest_pause_and_every_request_still_ends(self):
        executor = Executor(KVCache(6, 4), slots=3, max_active=3, iteration_seconds=0)
        requests = [request(range(4), 16) for _ in range(3)]
        seen = run(executor, requests)
        self.assertGreater(sum(stats.paused_requests for stats in seen), 0)
        self.assertTrue(all(0 <= stats.kv_used <= 6 for stats in seen))
        self.assertEqual([r.sink.tokens for r in requests], [list(range(1, 17))] * 3)
        self.assertEqual(executor.stats.kv_used, 0)

    def test_a_request_larger_than_the_cache_is_refused(self):
        with self.assertRaises(ValueError):
            Executor(KVCache(2, 4), 1, 1, 0).submit(request(range(4), 5))

    def test_a_client_that_left_ends_its_request(self):
        left = request(range(4), 50, leaves_after=10)
        executor = Executor(KVCache(20, 4), slots=1, max_active=1, iteration_seconds=0)
        run(executor, [left])
        self.assertEqual(left.sink.counted, (4, 10))

    def test_a_known_prefix_is_reused(self):
        executor = Executor(KVCache(20, 4), slots=1, max_active=4, iteration_seconds=0)
        seen = run(executor, [request(range(10), 1), request(range(10), 1), request(range(1, 11), 1)])
        self.assertEqual([stats.kv_reused for stats in seen[:3]], [0, 2, 2])
        self.assertEqual([stats.total_context_tokens for stats in seen[:3]], [10, 2, 10])


if __name__ == "__main__":
    unittest.main()
