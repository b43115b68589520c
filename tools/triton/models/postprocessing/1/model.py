"""The detokenizer: it is asked once a streamed response, so once a token."""

import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        return [self.detokenize(request) for request in requests]

    @staticmethod
    def detokenize(request):
        tokens = pb_utils.get_input_tensor_by_name(request, "TOKENS_BATCH").as_numpy().reshape(-1)
        text = " ".join("word%d" % token for token in tokens)
        return pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT", np.array([[text]], dtype=object))])
