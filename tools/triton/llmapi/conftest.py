"""What the tests have instead of Triton: its Python API with a page of metrics, requests, and a way to load a model."""

import json
import os
import sys
import threading
import types

import numpy as np
import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.abspath(os.path.join(HERE, "../../.."))
for folder in (HERE + "/tensorrt_llm/1", HERE + "/../models/tensorrt_llm/1", ROOT + "/deploy/triton/llmapi"):
    sys.path.insert(0, folder)


class Page:
    """Triton's page: families and series stay on it for good, as they do when a model is unloaded."""

    def __init__(self):
        self.kinds, self.values, self.observed, self.log = {}, {}, {}, []
        self.rounds = 0  # Each begins with the series that says who writes.

    def value(self, series, **labels):
        """The value of the one series with these labels; None without any."""
        found = [value for (name, pairs), value in self.values.copy().items() if name == series and labels.items() <= dict(pairs).items()]
        assert len(found) <= 1, (series, labels, found)
        return found[0] if found else None

    def names(self):
        return {name for name, _ in self.values.copy()}


class MetricFamily:
    GAUGE, COUNTER, HISTOGRAM = "gauge", "counter", "histogram"
    page = Page()

    def __init__(self, name, description, kind):
        if self.page.kinds.setdefault(name, kind) != kind:
            raise RuntimeError("metric '%s' exists with another kind" % name)
        assert description
        self.name, self.kind = name, kind

    def Metric(self, labels, buckets=None):  # noqa: N802
        return Metric(self.page, self.kind, (self.name, tuple(sorted(labels.items()))))


class Metric:
    def __init__(self, page, kind, key):
        self._page, self._kind, self._key = page, kind, key
        if kind == "histogram":
            page.observed.setdefault(key, [])
        else:
            page.values.setdefault(key, 0.0)

    def set(self, value):
        assert self._kind == "gauge" and isinstance(value, float)
        self._page.values[self._key] = value
        self._page.rounds += self._key[0] == "nv_llmapi_info"

    def increment(self, value):
        assert self._kind == "counter" and isinstance(value, float) and value >= 0
        self._page.values[self._key] += value

    def observe(self, value):
        self._page.observed[self._key].append(value)


class TritonError(Exception):
    CANCELLED = 1

    def __init__(self, text, code=0):
        super().__init__(text)
        self.code = code


class Tensor:
    def __init__(self, name, array):
        self.name, self._array = name, np.asarray(array)

    def as_numpy(self):
        return self._array


class InferenceResponse:
    def __init__(self, output_tensors=(), error=None):
        self.tensors, self.error = list(output_tensors), error

    def plain(self):
        """All that a client can see of it."""
        return [(one.name, one.as_numpy().tolist()) for one in self.tensors], self.error and (str(self.error), self.error.code)


class Request:
    """A request and its response sender in one."""

    def __init__(self, prompt, user_id="", **inputs):
        self._inputs = {"text_input": np.array([prompt.encode()], dtype=object), **{name: np.array([value]) for name, value in inputs.items()}}
        self._user_id, self.left = user_id, False
        self.responses, self.final = [], threading.Event()

    def input(self, name):
        return None if name not in self._inputs else Tensor(name, self._inputs[name])

    def request_id(self):
        return self._user_id

    def is_cancelled(self):
        return self.left

    def get_response_sender(self):
        return self

    def send(self, response=None, flags=0):
        if self.final.is_set():
            raise RuntimeError("the response sender is closed")
        self.responses.append(response.plain())
        if flags:
            self.final.set()

    def wait(self):
        assert self.final.wait(60), "a request did not end"
        return self.responses


def fake_pb_utils():
    module = types.ModuleType("triton_python_backend_utils")

    class TritonModelException(Exception):
        pass

    class Logger:
        log_info = log_error = staticmethod(lambda text: None)
        log_warn = staticmethod(lambda text: MetricFamily.page.log.append(text))

    for thing in (MetricFamily, TritonError, Tensor, InferenceResponse, TritonModelException, Logger):
        setattr(module, thing.__name__, thing)
    module.TRITONSERVER_RESPONSE_COMPLETE_FINAL = 1
    module.get_input_tensor_by_name = lambda request, name: request.input(name)
    return module


sys.modules["triton_python_backend_utils"] = fake_pb_utils()


@pytest.fixture
def page(monkeypatch):
    """A page of its own for each test, with rounds that follow each other quickly."""
    import trtllm_metrics

    monkeypatch.setattr(MetricFamily, "page", Page())
    monkeypatch.setattr(trtllm_metrics, "PERIOD", 0.05)
    monkeypatch.setattr(trtllm_metrics, "POLL", 0.02)
    return MetricFamily.page


@pytest.fixture
def load(tmp_path, monkeypatch):
    """A function that loads a model with settings of its engine; each is unloaded at the end."""
    from stock_model import TritonPythonModel as Stock

    loaded = []

    def load(wrap=None, stock=Stock, instances=1, name="tensorrt_llm_0_0", **settings):
        settings = {"iteration_ms": 5, **settings}
        lines = [line for line in open(HERE + "/tensorrt_llm/1/model.yaml") if line.split(":")[0] not in settings]
        lines += ["%s: %s\n" % (key, str(value).lower()) for key, value in settings.items()]
        path = tmp_path / "model.yaml"
        path.write_text("".join(lines))
        monkeypatch.setenv("LLM_CONFIG_PATH", str(path))
        model = (wrap(stock) if wrap else stock)()
        config = {"instance_group": [{"count": instances, "gpus": []}]}
        model.initialize({
            "model_name": "tensorrt_llm", "model_version": "1", "model_instance_name": name, "model_config": json.dumps(config)})
        loaded.append(model)

        def unload():
            loaded.remove(model)
            model.finalize()

        model.unload = unload
        return model

    yield load
    for model in list(loaded):
        model.finalize()
