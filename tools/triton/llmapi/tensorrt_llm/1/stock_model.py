"""A model with the interface of the LLM-API backend's model.py, for the tests of what is built around that file.

Same names for what a wrapper can see: `_llm_engine`, `_event_loop`, `_execute_single_request`, `_convert_request`,
`_ongoing_request_count`, `req_id_to_request_data`; same order of things in a request's life, same errors, same ends.
"""

import asyncio
import os
import queue
import threading
import uuid

import numpy as np
import triton_python_backend_utils as pb_utils

FINAL = pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL


def read_settings():
    """The flat model.yaml: numbers, booleans and texts."""
    words = {"true": True, "false": False, '""': ""}
    settings = {}
    with open(os.environ.get("LLM_CONFIG_PATH") or os.path.join(os.path.dirname(os.path.abspath(__file__)), "model.yaml")) as file:
        for line in file:
            if ":" in line and not line.startswith("#"):
                key, value = (part.strip() for part in line.split(":", 1))
                settings[key] = words[value] if value in words else int(value) if value.isdigit() else value
    return settings


class TritonPythonModel:
    @classmethod
    def auto_complete_config(cls, config):
        config.set_max_batch_size(0)
        return config

    def initialize(self, args):
        from tensorrt_llm import global_mpi_rank

        self.logger = pb_utils.Logger
        self.llm_engine_args = read_settings()
        self.decoupled = self.llm_engine_args.pop("decoupled")
        self._cancellation_period = self.llm_engine_args.pop("cancellation_check_period_ms") / 1000
        if global_mpi_rank() != 0:
            return
        self._llm_engine = None
        self._started = threading.Condition()
        self._llm_engine_shutdown_event = asyncio.Event()
        self._event_thread = threading.Thread(target=asyncio.run, args=(self._run_llm_engine(),))
        self._event_thread.start()
        with self._started:
            self._started.wait_for(lambda: self._llm_engine is not None)
        if isinstance(self._llm_engine, Exception):
            raise self._llm_engine
        self.lock = threading.Lock()
        self.req_id_to_request_data = {}
        self.user_id_to_req_id = {}
        self.running = True
        self._response_queue = queue.Queue()
        self._response_thread = threading.Thread(target=self._response_loop)
        self._response_thread.start()
        self.cancellation_thread = threading.Thread(target=self.cancellation_loop)
        self.cancellation_thread.start()

    async def _run_llm_engine(self):
        from tensorrt_llm import LLM

        self._ongoing_request_count = 0
        loop = asyncio.get_running_loop()
        try:
            engine = await loop.run_in_executor(None, lambda: LLM(**self.llm_engine_args))
        except Exception as error:
            engine = error
        with self._started:
            self._event_loop, self._llm_engine = loop, engine
            self._started.notify_all()
        if isinstance(engine, Exception):
            return
        await self._llm_engine_shutdown_event.wait()
        while self._ongoing_request_count > 0:
            self.logger.log_info("[stand-in] waiting for %d requests" % self._ongoing_request_count)
            await asyncio.sleep(0.1)
        for task in asyncio.all_tasks(loop) - {asyncio.current_task()}:
            task.cancel()
        await loop.run_in_executor(None, engine.shutdown)
        self._llm_engine = None
        self.logger.log_info("[stand-in] the engine has ended")

    def execute(self, requests):
        for request in requests:
            assert not self._llm_engine_shutdown_event.is_set(), "no new requests after the shutdown"
            asyncio.run_coroutine_threadsafe(self._execute_single_request(request), self._event_loop)

    async def _execute_single_request(self, request):
        sender, user_id = request.get_response_sender(), request.request_id()
        if scalar(request, "stop"):
            self.handle_stop_request(user_id, sender)
            return
        self._ongoing_request_count += 1
        counted_later = False
        req_id = str(uuid.uuid4())
        try:
            prompt, sampling_params, streaming, wants = self._convert_request(request)
            if streaming and not self.decoupled:
                raise pb_utils.TritonModelException("Streaming is only supported in decoupled mode.")
            from tensorrt_llm import SamplingParams

            result = self._llm_engine.generate_async(prompt, SamplingParams(**sampling_params), streaming=streaming)
            with self.lock:
                self.req_id_to_request_data[req_id] = (request, result)
                self.user_id_to_req_id[user_id or req_id] = req_id
            async for output in result:
                if streaming:
                    counted_later = output.finished
                    if output.finished:
                        self._forget(req_id, user_id)
                    self._response_queue.put_nowait((sender, self._create_response(output, wants), FINAL if output.finished else 0))
            if not streaming:
                with self.lock:
                    cancelled = self.req_id_to_request_data.pop(req_id, None) is None
                if not cancelled:
                    sender.send(self._create_response(output, wants), flags=FINAL)
        except Exception as error:
            self.logger.log_error("[stand-in] Error generating request: %s" % error)
            counted_later = True  # After the tokens that are still on their way.
            self._forget(req_id, user_id)
            self._response_queue.put_nowait(
                (sender, pb_utils.InferenceResponse(error=pb_utils.TritonError("Error generating request: %s" % error)), FINAL))
            raise
        finally:
            if not counted_later:
                self._ongoing_request_count -= 1
            self._forget(req_id, user_id)

    def _forget(self, req_id, user_id):
        """Called before a final response is sent: is_cancelled crashes Triton 2.51 after one."""
        with self.lock:
            self.req_id_to_request_data.pop(req_id, None)
            self.user_id_to_req_id.pop(user_id or req_id, None)

    def _convert_request(self, request):
        text = pb_utils.get_input_tensor_by_name(request, "text_input").as_numpy().reshape(-1)
        if len(text) != 1:
            raise pb_utils.TritonModelException("text_input must be a single prompt")
        wanted = scalar(request, "sampling_param_max_tokens")
        sampling_params = {} if wanted is None else {"max_tokens": int(wanted)}
        return text[0].decode("utf-8"), sampling_params, bool(scalar(request, "streaming")), (
            bool(scalar(request, "return_finish_reason")), bool(scalar(request, "sampling_param_return_perf_metrics")))

    @staticmethod
    def _create_response(output, wants):
        wants_reason, wants_metrics = wants
        tensors = [pb_utils.Tensor("text_output", np.array([one.text for one in output.outputs], dtype=object))]
        if wants_reason:
            tensors.append(pb_utils.Tensor("finish_reason", np.array([str(one.finish_reason) for one in output.outputs], dtype=object)))
        if wants_metrics and output.finished:
            for name in ("arrival_time_ns", "first_scheduled_time_ns", "first_token_time_ns"):
                tensors.append(pb_utils.Tensor(name, np.array([str(getattr(output, name))], dtype=object)))
        return pb_utils.InferenceResponse(output_tensors=tensors)

    def handle_stop_request(self, user_id, sender):
        with self.lock:
            req_id = self.user_id_to_req_id.get(user_id)
            if req_id in self.req_id_to_request_data:
                self.req_id_to_request_data.pop(req_id)[1].abort()
        sender.send(pb_utils.InferenceResponse(error=cancelled_error()), flags=FINAL)

    def _response_loop(self):
        while True:
            item = self._response_queue.get()
            if item is None:
                return
            sender, response, flags = item
            try:
                sender.send(response, flags)
            except Exception as error:
                self.logger.log_error("[stand-in] sending a response: %s" % error)
            finally:
                if flags == FINAL:
                    self._ongoing_request_count -= 1

    def cancellation_loop(self):
        while self.running:
            threading.Event().wait(self._cancellation_period)
            with self.lock:
                for req_id, (request, result) in list(self.req_id_to_request_data.items()):
                    if hasattr(request, "is_cancelled") and request.is_cancelled():  # Since Triton 23.10.
                        result.abort()
                        request.get_response_sender().send(pb_utils.InferenceResponse(error=cancelled_error()), flags=FINAL)
                        del self.req_id_to_request_data[req_id]

    def finalize(self):
        self._event_loop.call_soon_threadsafe(self._llm_engine_shutdown_event.set)
        self._event_thread.join()
        self._response_queue.put(None)
        self._response_thread.join()
        self.running = False
        self.cancellation_thread.join()


def scalar(request, name):
    tensor = pb_utils.get_input_tensor_by_name(request, name)
    return None if tensor is None else tensor.as_numpy().reshape(-1)[0]


def cancelled_error():
    return pb_utils.TritonError("Request cancelled by client", pb_utils.TritonError.CANCELLED)
