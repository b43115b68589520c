package simulate

// KindTritonPython is a TRT-LLM repository on the Python executor backend: set B.
const KindTritonPython Kind = "triton-python"

func tritonPython() software { return repository("python").software() }
