from stock_model import TritonPythonModel as Stock
from trtllm_metrics import with_metrics
TritonPythonModel = with_metrics(Stock)
