"""Writes a folder that Dynamo's mock engine takes for a model: a tokenizer of words and the configs, without weights.

Every token is one word, so that what the mock engine makes up decodes to text and counts can be compared.
"""

import json
import pathlib
import sys

from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers

WORDS = 4096
SPECIAL = ["<s>", "</s>", "<unk>", "<|turn|>"]

folder = pathlib.Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)


def write(name, content):
    (folder / name).write_text(json.dumps(content))


vocabulary = {word: i for i, word in enumerate(SPECIAL + [f"w{i}" for i in range(WORDS - len(SPECIAL))])}
tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer.add_special_tokens([AddedToken(word, special=True) for word in SPECIAL])
tokenizer.save(str(folder / "tokenizer.json"))
write("config.json", {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "torch_dtype": "bfloat16", "vocab_size": WORDS,
    "hidden_size": 64, "intermediate_size": 128, "head_dim": 16, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "max_position_embeddings": 4096, "bos_token_id": 0, "eos_token_id": 1,
})
write("generation_config.json", {"bos_token_id": 0, "eos_token_id": 1})
write("tokenizer_config.json", {
    "tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>", "eos_token": "</s>", "model_max_length": 4096,
    "chat_template": "{% for m in messages %}<|turn|>{{ m['content'] }}{% endfor %}",
})
