"""The metrics module around a model with the interface of the stock file, over an engine that batches in flight."""

import asyncio
import gc
import threading
import time
import weakref

import pytest
import trtllm_metrics as tm
from conftest import MetricFamily, Request
from stock_model import TritonPythonModel as Stock

LATENCIES = list(tm.HISTOGRAMS)
GOOD = {"class": "ok", "finish_reason": "length"}


def prompt(words, *orders):
    return " ".join([*orders, *("word%d" % i for i in range(words))])


def stream(words, tokens, *orders, **more):
    return Request(prompt(words, *orders), streaming=True, sampling_param_max_tokens=tokens, **more)


def answer(words, tokens, *orders, **more):
    return Request(prompt(words, *orders), sampling_param_max_tokens=tokens, return_finish_reason=True, **more)


def soon(what, check, limit=600.0):
    end = time.monotonic() + limit
    while not check():
        assert time.monotonic() < end, what
        time.sleep(0.01)


def settled(page, model):
    """Wait until the page has all of what was counted."""
    soon("requests end", lambda: model._metrics.tally.in_flight() == 0)
    written(page, model)


def written(page, model):
    """Wait until the page has the statistics of now."""
    for _ in range(2):  # One look at the statistics may have been under way.
        look = model._metrics._drain
        soon("statistics are read", lambda: model._metrics._drain is not look)  # noqa: B023
    rounds_pass(page, 1)


def rounds_pass(page, count):
    """Wait until so many whole rounds are written."""
    rounds = page.rounds
    soon("whole rounds are written", lambda: page.rounds > rounds + count)


def unloaded(model):
    """Unload a model; a failure where that hangs."""
    unloading = threading.Thread(target=model.unload, daemon=True)
    unloading.start()
    unloading.join(60)
    assert not unloading.is_alive(), "it does not end"


@pytest.fixture(params=["queue", "rpc", "fetch"])
def interface(request):
    return request.param


def test_tokens_and_requests_are_counted_to_the_last(page, load, interface):
    model = load(tm.with_metrics, statistics=interface)
    requests = [stream(10 + i, 20 + i) for i in range(6)] + [answer(5, 30), answer(5, 30, "!stop:7"), stream(5, 30, "!stop:3")]
    requests += [stream(3, 9, "!boom"), answer(600, 9), stream(3, 0), answer(3, 9, "!fail:4"), stream(3, 9, "!timeout:2")]
    model.execute(requests)
    for request in requests:
        request.wait()
    settled(page, model)
    generated = sum(range(20, 26)) + 30 + 7 + 3 + 2  # Tokens of the answer that failed never came.
    assert page.value("nv_llmapi_generation_tokens_total") == generated
    assert page.value("nv_llmapi_prompt_tokens_total") == sum(range(10, 16)) + 5 + 6 + 6 + 4
    ended = {(dict(labels)["class"], dict(labels)["finish_reason"]): total
             for (name, labels), total in page.values.items() if name == "nv_llmapi_requests_ended_total" and total}
    assert ended == {("ok", "length"): 7, ("ok", "stop"): 2, ("server", "error"): 2, ("client", "error"): 2, ("overload", "timeout"): 1}
    lengths = {name: sorted(seen) for (name, _), seen in page.observed.items()}
    assert sum(lengths["nv_llm_output_token_len"]) == generated
    assert len(lengths["nv_llm_input_token_len"]) == 11, "all that the engine took"
    streams = 8
    assert page.value(LATENCIES[0] + "_count") == page.value(LATENCIES[0] + "_bucket", le="+Inf") == streams
    assert page.value(LATENCIES[1] + "_count") == sum(range(20, 26)) + 3 + 2 - streams
    assert page.value(LATENCIES[2] + "_count") == 9
    assert page.value("nv_llmapi_iterations_total") == model._llm_engine._engine.stats.iteration_counter - 1, "the last is of no request"
    assert page.value("nv_llmapi_module_errors_total") == 0
    assert page.log == []


def test_the_page_follows_the_engine(page, load, interface):
    model = load(tm.with_metrics, statistics=interface, iteration_ms=20)
    requests = [stream(16, 150 if i < 4 else 10) for i in range(12)]  # The first four fill the batch for a while.
    model.execute(requests)
    soon("the executor is full", lambda: "nv_llmapi_requests_waiting" in page.names() and page.value("nv_llmapi_requests_waiting") == 8)

    def of(kind):
        return page.value("nv_trt_llm_request_metrics", request_type=kind)

    # Series are written one after the other.
    soon("all of it is told", lambda: (of("active"), of("scheduled"), of("waiting"), of("max")) == (8, 4, 4, 8)
         and page.value("nv_llmapi_requests_in_flight") == 12
         and (page.value("nv_trt_llm_kv_cache_block_metrics", kv_cache_block_type="used") or 0) >= 4 * 2)
    soon("most of them generate", lambda: page.value(
        "nv_trt_llm_inflight_batcher_metrics", inflight_batcher_specific_metric="generation_requests") in (3, 4))
    before = [page.value(name) for name in ("nv_llmapi_generation_tokens_total", "nv_llmapi_iterations_total")]
    soon("numbers live while no request ends", lambda: all(
        page.value(name) > value for name, value in zip(("nv_llmapi_generation_tokens_total", "nv_llmapi_iterations_total"), before)))
    assert model._metrics.tally.in_flight() == 12
    for request in requests:
        request.wait()
    settled(page, model)
    soon("an idle engine has no requests", lambda: (of("active"), of("scheduled"), of("waiting"), of("context")) == (0, 0, 0, 0))
    assert page.value("nv_llmapi_requests_waiting") == 0
    assert page.value("nv_llmapi_prefill_tokens_total") == 16 + 11 * 1, "all other prompts were in the cache, but for a token"
    assert page.value("nv_llmapi_kv_cache_reused_blocks_total") == 11 * 2
    assert page.value("nv_llmapi_kv_cache_missed_blocks_total") == 2


def test_pauses_of_a_full_cache_are_counted(page, load):
    model = load(tm.with_metrics, kv_blocks=9)
    requests = [stream(8 + i, 24) for i in range(4)]
    model.execute(requests)
    for request in requests:
        request.wait()
    settled(page, model)
    assert page.value("nv_llmapi_requests_preempted_total") > 0
    assert page.value("nv_llmapi_generation_tokens_total") == 4 * 24


def test_the_engine_is_never_asked_on_its_event_loop(page, load, interface):
    """Some releases make the question a call to another process, and whoever asks waits."""
    model = load(tm.with_metrics, statistics=interface)
    engine, threads = model._llm_engine, set()
    ask = engine.get_stats_async

    def watched(timeout):
        threads.add(threading.current_thread().name)
        return ask(timeout)

    engine.get_stats_async = watched
    model.execute([stream(4, 5)])
    soon("statistics are read", lambda: (page.value("nv_llmapi_iterations_total") or 0) > 0)
    assert threads == {"trtllm_metrics reader"}


def test_a_frozen_engine_is_told_from_a_frozen_reader(page, load, interface):
    model = load(tm.with_metrics, statistics=interface)

    def iterations():
        return page.value("nv_llmapi_iterations_total")

    def beat():
        return page.value("nv_llmapi_heartbeat_timestamp_seconds")

    soon("there is a heartbeat before the first request", lambda: ("nv_llmapi_heartbeat_timestamp_seconds" in page.names() and beat() > 0))
    held = stream(4, 60, "!freeze:3600000")
    model.execute([held, stream(4, 60)])
    try:
        soon("both have arrived", lambda: page.value("nv_llmapi_requests_in_flight") == 2)
        written(page, model)
        before, alive = iterations(), beat()
        soon("the reader lives", lambda: beat() > alive)
        assert iterations() == before
        assert page.value("nv_llmapi_requests_in_flight") == 2
    finally:
        model._llm_engine._engine.hold_until = 0
    held.wait()
    settled(page, model)
    assert iterations() > before + 50, "it reads on, without another request"

    stands, goes_on = threading.Event(), threading.Event()
    model._event_loop.call_soon_threadsafe(lambda: (stands.set(), goes_on.wait()))
    try:
        assert stands.wait(60)
        rounds_pass(page, 1)  # The heartbeat of before is written.
        alive = beat()
        rounds_pass(page, 3)
        assert beat() == alive, "no heartbeat while the event loop stands still"
    finally:
        goes_on.set()
    soon("the heartbeat is back", lambda: beat() > alive)


def test_statistics_without_a_pause_are_read_as_they_come(page, load):
    """One look at them never ends then."""
    model = load(tm.with_metrics)

    async def endless():
        for i in range(1, 100000):
            yield {"iter": i, "numActiveRequests": 1}
            await asyncio.sleep(0.005)

    model._llm_engine.get_stats_async = lambda timeout: endless()
    model.execute([stream(4, 5)])
    soon("statistics are read", lambda: (page.value("nv_llmapi_iterations_total") or 0) > 5)
    look = model._metrics._drain
    alive, before = page.value("nv_llmapi_heartbeat_timestamp_seconds"), page.value("nv_llmapi_iterations_total")
    soon("the reader lives", lambda: page.value("nv_llmapi_heartbeat_timestamp_seconds") > alive)
    soon("it reads on", lambda: page.value("nv_llmapi_iterations_total") > before)
    assert model._metrics._drain is look


def test_an_engine_that_dies_takes_its_requests_along(page, load, interface):
    model = load(tm.with_metrics, statistics=interface)
    requests = [stream(4, 500) for _ in range(3)]
    model.execute(requests)
    soon("they run", lambda: model._metrics.tally.in_flight() == 3 and model._metrics.tally.generation_tokens > 3)
    model.execute([stream(4, 5, "!die")])
    for request in requests:
        assert request.wait()[-1][1][0] == "Error generating request: the executor process is gone"
    late = stream(4, 5)
    model.execute([late])
    late.wait()
    soon("all of them failed", lambda: page.value("nv_llmapi_requests_ended_total", **{"class": "server"}) == 5
         and page.value("nv_llmapi_requests_in_flight") == 0)
    if interface == "fetch":  # The one way to read statistics that says so.
        soon("reading fails", lambda: page.value("nv_llmapi_module_errors_total") > 1)
        alive = page.value("nv_llmapi_heartbeat_timestamp_seconds")
        time.sleep(0.3)
        assert page.value("nv_llmapi_heartbeat_timestamp_seconds") == alive
        assert page.log == ["[trtllm_metrics] read statistics: RuntimeError: the executor process is gone"], "said once"


@pytest.mark.parametrize("how", ["the client leaves", "another request stops it"])
def test_cancelled_requests_are_no_failures(page, load, how):
    model = load(tm.with_metrics, cancellation_check_period_ms=10)
    requests = [stream(4, 500, user_id="a"), answer(4, 500, user_id="b")]
    model.execute(requests)
    soon("both run", lambda: model._metrics.tally.in_flight() == 2 and model._metrics.tally.generation_tokens > 2)
    for request in requests:
        if how == "the client leaves":
            request.left = True
        else:
            stop = Request("", user_id=request.request_id(), stop=True)
            model.execute([stop])
            stop.wait()
    settled(page, model)
    assert page.value("nv_llmapi_requests_ended_total", **{"class": "canceled"}) == 2
    assert sum(total for (name, _), total in page.values.items() if name == "nv_llmapi_requests_ended_total") == 2


def mixed():
    """Requests of all kinds whose answers do not depend on when they are made."""
    return [
        stream(10, 12), answer(10, 12), stream(3, 1), answer(3, 5, "!stop:2"), stream(3, 9, "!boom"), answer(3, 9, "!boom"), stream(3, 9, "!fail:4"),
        answer(3, 9, "!fail:4"), answer(600, 3), stream(3, 0), answer(3, 9, "!timeout:3"), Request("", user_id="nobody", stop=True)]


def answers(model):
    requests = mixed()
    for request in requests:  # One by one: then all that comes of them is their own.
        model.execute([request])
        request.wait()
    return [request.responses for request in requests]


@pytest.fixture(scope="module")
def plain():
    """The answers of the stock model, made once."""
    return []


@pytest.fixture
def expected(plain, load):
    if not plain:
        plain.extend(answers(load()))
    return plain


def test_answers_are_the_same_with_and_without(page, load, expected):
    assert answers(load(tm.with_metrics)) == expected


@pytest.mark.parametrize("broken", [
    (tm.Request, "saw"), (tm.Request, "end"), (tm.Metrics, "_watch"), (tm.Tally, "iterate"), (tm.Metrics, "_followed"), (tm.Metrics, "_read_statistics"),
    (tm.Metrics, "_write_own"), (tm.Board, "_write"), (tm.Board, "clear"), (tm, "engine_gauges"), (tm, "labels_of"), (tm.pb_utils.Logger, "log_warn"),
    (MetricFamily, "Metric"), (MetricFamily, "__init__"), (tm, "Request"), (tm.inspect, "signature"),
], ids=lambda pair: "%s of %s" % (pair[1], pair[0].__name__))
def test_nothing_that_fails_in_the_module_is_seen_by_a_client(page, load, monkeypatch, expected, broken):
    def fail(*_args, **_kwargs):
        raise ZeroDivisionError("broken")

    monkeypatch.setattr(*broken, fail)
    model = load(tm.with_metrics)
    assert answers(model) == expected
    if broken[1] not in ("clear", "log_warn"):
        soon("it is in the log", lambda: any("broken" in text for text in page.log))
    model.unload()
    said = [text for text in page.log if "broken" in text]
    assert said or broken[1] == "log_warn", "it is in the log"
    assert len(said) == len(set(said)), "each once"


@pytest.mark.parametrize(("lacking", "said", "gone"), [
    ("_execute_single_request", "requests that fail before", set()),
    ("generate_async", "neither tokens nor requests", {"nv_trt_llm_request_metrics"}),
    ("get_stats_async", "no iteration statistics", {"nv_trt_llm_request_metrics", "nv_llmapi_requests_waiting"}),
    ("_event_loop", "no iteration statistics", {"nv_trt_llm_request_metrics", "nv_llmapi_requests_waiting"}),
    ("HISTOGRAM", "no custom histograms", {"nv_llm_input_token_len", "nv_llm_output_token_len"}),
    ("enable_iter_perf_stats", "set enable_iter_perf_stats: true", {"nv_trt_llm_request_metrics", "nv_llmapi_requests_waiting"}),
    ("_llm_engine", "there are no metrics", {"nv_llmapi_requests_in_flight"}),
])
def test_a_missing_piece_costs_only_what_needs_it(page, load, monkeypatch, lacking, said, gone):
    class Older(Stock):
        def initialize(self, args):
            super().initialize(args)
            engine = self._llm_engine
            if lacking == "generate_async":
                self._llm_engine = Without(engine, "generate_async")
                self._generate = engine.generate_async
            if lacking == "get_stats_async":
                self._llm_engine = Without(engine, "get_stats_async")
            if lacking in ("_event_loop", "_llm_engine"):
                setattr(self, "_hidden", getattr(self, lacking))
                delattr(self, lacking)

        def execute(self, requests):
            if lacking in ("_event_loop", "_llm_engine"):
                setattr(self, lacking, self._hidden)
            if lacking == "generate_async":
                self._llm_engine = self._llm_engine._engine
            if lacking == "_execute_single_request":
                for request in requests:
                    asyncio.run_coroutine_threadsafe(Stock.__dict__["_execute_single_request"](self, request), self._event_loop)
            else:
                super().execute(requests)

    class Without:
        def __init__(self, engine, name):
            self._engine, self._name = engine, name

        def __getattr__(self, name):
            if name == self._name:
                raise AttributeError(name)
            return getattr(self._engine, name)

    if lacking == "enable_iter_perf_stats":
        monkeypatch.setattr(tm, "QUIET_ROUNDS", 2)
    if lacking == "HISTOGRAM":
        monkeypatch.delattr(MetricFamily, "HISTOGRAM")
    if lacking == "_execute_single_request":
        monkeypatch.setattr(Stock, "_execute_single_request", Stock._execute_single_request)  # Put back at the end.
        work = Stock._execute_single_request
        del Stock._execute_single_request
        Older.execute = lambda self, requests: [asyncio.run_coroutine_threadsafe(work(self, one), self._event_loop) for one in requests]
    model = load(tm.with_metrics, stock=Older, **({lacking: False} if lacking == "enable_iter_perf_stats" else {}))
    request = stream(4, 6)
    model.execute([request])
    assert len(request.wait()) == 6
    soon("it is said", lambda: page.log)
    if lacking != "_llm_engine" and "nv_trt_llm_request_metrics" not in gone:
        soon("statistics are read", lambda: page.value("nv_llmapi_iterations_total"))
    model.unload()
    assert [said in text for text in page.log] == [True], page.log
    assert not page.value("nv_llmapi_module_errors_total")
    there = page.names() | {name for name, _ in page.observed}
    assert not there & gone
    if lacking not in ("_llm_engine", "generate_async"):
        assert page.value("nv_llmapi_generation_tokens_total") == 6
        assert page.value("nv_llmapi_requests_ended_total", **GOOD) == 1
        assert ("nv_trt_llm_request_metrics" in there) == ("nv_trt_llm_request_metrics" not in gone)


def test_a_model_without_an_engine_of_its_own_is_left_alone(page, load, monkeypatch):
    monkeypatch.setattr("tensorrt_llm.global_mpi_rank", lambda: 1)
    monkeypatch.setattr(Stock, "finalize", lambda self: None)
    load(tm.with_metrics)
    assert not page.values


def test_unloading_leaves_nothing_frozen_and_loading_goes_on(page, load):
    model = load(tm.with_metrics)
    first = [stream(4, 10) for _ in range(5)]
    model.execute(first)
    for request in first:
        request.wait()
    model.unload()
    assert page.value("nv_llmapi_generation_tokens_total") == 50, "the last round writes the last numbers"
    for (name, labels), value in page.values.items():
        if page.kinds[name] == "gauge":
            assert value == 0, (name, labels)
    soon("its threads end", lambda: not [thread for thread in threading.enumerate() if thread.name.startswith("trtllm_metrics")])

    model = load(tm.with_metrics)
    again = stream(4, 7)
    model.execute([again])
    again.wait()
    settled(page, model)
    assert page.value("nv_llmapi_generation_tokens_total") == 57
    assert page.value("nv_llmapi_info", tensorrt_llm_version="1.0.0+standin", module_version=tm.MODULE_VERSION) == 1
    soon("the gauges are back", lambda: page.value("nv_trt_llm_request_metrics", request_type="max") == 8)


def test_a_model_that_is_replaced_while_it_serves_does_not_silence_its_successor(page, load):
    old = load(tm.with_metrics)
    new = load(tm.with_metrics)
    old.unload()
    soon("the new one's numbers are back", lambda: page.value("nv_llmapi_info") == 1 and page.value("nv_llmapi_heartbeat_timestamp_seconds") > 0)
    assert new._metrics._writer.is_alive()


def test_the_reader_leaves_before_the_engine_ends(page, load, monkeypatch, interface):
    """No statistics are read, and no trace is on the engine, once the stock model begins to end it."""
    model = load(tm.with_metrics, statistics=interface)
    request = stream(4, 10)
    model.execute([request])
    request.wait()
    engine, read_late = model._llm_engine, []
    shutdown = engine.shutdown

    def ending():
        assert "generate_async" not in vars(engine)
        engine.get_stats_async = lambda timeout: read_late.append(timeout)
        time.sleep(0.3)
        shutdown()

    engine.shutdown = ending
    monkeypatch.setattr(tm, "GOODBYE", 3600)
    unloaded(model)
    assert read_late == []
    engine_gone = weakref.ref(engine)
    del engine, model, shutdown, ending
    gc.collect()
    assert engine_gone() is None, "nothing holds the engine"


def test_an_engine_that_does_not_answer_holds_nothing_up(page, load, monkeypatch):
    monkeypatch.setattr(tm, "GOODBYE", 0.3)
    model = load(tm.with_metrics)
    asked, held = threading.Event(), threading.Event()
    model._llm_engine.get_stats_async = lambda timeout: (asked.set(), held.wait())
    request = stream(4, 10)
    model.execute([request])
    request.wait()
    soon("tokens are counted", lambda: page.value("nv_llmapi_generation_tokens_total") == 10)
    assert asked.wait(60)
    rounds_pass(page, 1)
    alive = page.value("nv_llmapi_heartbeat_timestamp_seconds")
    again = stream(4, 10)
    model.execute([again])
    again.wait()
    soon("tokens are still counted", lambda: page.value("nv_llmapi_generation_tokens_total") == 20)
    assert page.value("nv_llmapi_heartbeat_timestamp_seconds") == alive, "the reader does not live"
    unloaded(model)
    assert page.value("nv_llmapi_requests_ended_total", **GOOD) == 2
    held.set()


def test_instances_of_a_model_have_series_of_their_own(page, load):
    models = [load(tm.with_metrics, instances=2, name="tensorrt_llm_0_%d" % i) for i in range(2)]
    for i, model in enumerate(models):
        request = stream(4, 10 + i)
        model.execute([request])
        request.wait()
        settled_at = 10 + i
        soon("counted", lambda: page.value("nv_llmapi_generation_tokens_total", model_instance="tensorrt_llm_0_%d" % i) == settled_at)


def test_memory_is_bounded(page, load, monkeypatch):
    model = load(tm.with_metrics, iteration_ms=0, slots=50, max_active_requests=50, max_queue_size=5000, kv_blocks=5000)
    tally, board = model._metrics.tally, model._metrics._board

    def run():
        requests = [stream(2, 2) for _ in range(500)]
        model.execute(requests)
        for request in requests:
            request.wait()
        settled(page, model)
        gc.collect()
        held = sum(isinstance(thing, (tm.Request, tm.Watched)) for thing in gc.get_objects())
        assert held < 20, "requests that ended are forgotten"
        return len(board._metrics), len(board._counted), len(tally.ended), len(tally.rows), len(tally.lengths), len(model._metrics._said)

    assert run() == run()
