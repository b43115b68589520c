"""The ensemble written as business logic: the same three steps, one request at a time in an instance."""

import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        for request in requests:
            sender = request.get_response_sender()
            try:
                for tensor in self.generate(request):
                    sender.send(pb_utils.InferenceResponse([tensor]))
            except pb_utils.TritonModelException as err:
                sender.send(pb_utils.InferenceResponse(error=pb_utils.TritonError(str(err))))
            sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)

    def generate(self, request):
        """Yield a text_output tensor for each token."""
        query = pb_utils.get_input_tensor_by_name(request, "text_input").as_numpy()
        wanted = pb_utils.get_input_tensor_by_name(request, "max_tokens").as_numpy()
        prompt = self.step("preprocessing", {"QUERY": query, "REQUEST_OUTPUT_LEN": wanted},
                           ["INPUT_ID", "REQUEST_INPUT_LEN", "REQUEST_OUTPUT_LEN"]).exec()
        inputs = {
            "input_ids": self.output(prompt, "INPUT_ID"),
            "input_lengths": self.output(prompt, "REQUEST_INPUT_LEN"),
            "request_output_len": self.output(prompt, "REQUEST_OUTPUT_LEN"),
        }
        llm = self.step("tensorrt_llm", inputs, ["output_ids", "sequence_length"])
        for response in llm.exec(decoupled=True):
            tokens = self.output(response, "output_ids")
            if tokens is None:  # The final response of a stream is empty.
                continue
            text = self.step("postprocessing", {
                "TOKENS_BATCH": tokens,
                "SEQUENCE_LENGTH": self.output(response, "sequence_length"),
            }, ["OUTPUT"]).exec()
            yield pb_utils.Tensor("text_output", self.output(text, "OUTPUT"))

    @staticmethod
    def step(model, inputs, outputs):
        tensors = [pb_utils.Tensor(name, value) for name, value in inputs.items()]
        return pb_utils.InferenceRequest(model_name=model, inputs=tensors, requested_output_names=outputs)

    @staticmethod
    def output(response, name):
        if response.has_error():
            raise pb_utils.TritonModelException(response.error().message())
        tensor = pb_utils.get_output_tensor_by_name(response, name)
        return None if tensor is None else tensor.as_numpy()
