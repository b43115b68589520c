"""The tokenizer: one token a word, the same word always the same token."""

import zlib

import numpy as np
import triton_python_backend_utils as pb_utils

VOCABULARY = 32000


class TritonPythonModel:
    def execute(self, requests):
        return [self.tokenize(request) for request in requests]

    @staticmethod
    def tokenize(request):
        query = pb_utils.get_input_tensor_by_name(request, "QUERY").as_numpy()
        words = query.reshape(-1)[0].decode("utf-8").split()
        if not words:
            return pb_utils.InferenceResponse(error=pb_utils.TritonError("the prompt has no words"))
        tokens = [zlib.crc32(word.encode("utf-8")) % VOCABULARY for word in words]
        wanted = pb_utils.get_input_tensor_by_name(request, "REQUEST_OUTPUT_LEN").as_numpy()
        return pb_utils.InferenceResponse([
            pb_utils.Tensor("INPUT_ID", np.array([tokens], dtype=np.int32)),
            pb_utils.Tensor("REQUEST_INPUT_LEN", np.array([[len(tokens)]], dtype=np.int32)),
            pb_utils.Tensor("REQUEST_OUTPUT_LEN", wanted.astype(np.int32)),
        ])
