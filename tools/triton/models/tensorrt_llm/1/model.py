"""A decoupled model with the executor, the metric families and the tensors of the TensorRT-LLM backend, and no network."""

import json
import os
import sys
import threading

import numpy as np
import triton_python_backend_utils as pb_utils

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from executor import Executor, Request  # noqa: E402
from families import Families  # noqa: E402
from kvcache import KVCache  # noqa: E402

CANCEL_CHECK_TOKENS = 10  # Asking whether the client left is a call to the server's process.


class Stream:
    """Carries the tokens of one request to its client."""

    def __init__(self, request, families):
        self._request, self._families = request, families  # The server forgets a request that is collected.
        self._sender = request.get_response_sender()
        self._cancelled = getattr(self._sender, "is_cancelled", None)  # Since Triton 23.10.

    def token(self, index):
        """Send one token and tell whether the client still wants more."""
        self._sender.send(pb_utils.InferenceResponse([
            pb_utils.Tensor("output_ids", np.array([[[index]]], dtype=np.int32)),
            pb_utils.Tensor("sequence_length", np.array([[1]], dtype=np.int32)),
        ]))
        return index % CANCEL_CHECK_TOKENS or not (self._cancelled and self._cancelled())

    def finish(self, prompt_tokens, generated_tokens):
        self._families.observe(prompt_tokens, generated_tokens)
        self._sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)

    def fail(self, message):
        error = pb_utils.InferenceResponse(error=pb_utils.TritonError(message))
        self._sender.send(error, flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)


class TritonPythonModel:
    def initialize(self, args):
        parameters = json.loads(args["model_config"])["parameters"]
        shape = {key: int(value["string_value"]) for key, value in parameters.items()}
        cache = KVCache(shape["kv_blocks"], shape["tokens_per_block"])
        self.executor = Executor(cache, shape["slots"], shape["max_active_requests"], shape["iteration_ms"] / 1000)
        self.families = Families(args["model_name"], args["model_version"])
        self.stopped = threading.Event()
        self.publisher = threading.Thread(target=self.publish, args=(shape["stats_check_period_ms"] / 1000,), daemon=True)
        self.executor.start()
        self.publisher.start()

    def publish(self, period):
        """Drain the executor's statistics: between two visits only the last iteration is seen, and none when it idles."""
        seen = self.executor.stats
        while not self.stopped.wait(period):
            latest = self.executor.stats
            if latest is not seen:
                self.families.publish(latest, self.executor)
                seen = latest

    def execute(self, requests):
        for request in requests:
            stream = Stream(request, self.families)
            prompt = pb_utils.get_input_tensor_by_name(request, "input_ids").as_numpy()
            wanted = int(pb_utils.get_input_tensor_by_name(request, "request_output_len").as_numpy().reshape(-1)[0])
            if prompt.shape[0] != 1 or wanted < 1:
                stream.fail("a batch of one with request_output_len of at least 1 is needed")
                continue
            try:
                self.executor.submit(Request(tuple(prompt[0].tolist()), wanted, stream))
            except ValueError as err:
                stream.fail(str(err))

    def finalize(self):
        self.stopped.set()
        self.publisher.join()
        self.executor.stop()
