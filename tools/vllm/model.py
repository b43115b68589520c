"""Writes a small Llama with random weights and a tokenizer of words, which vLLM and SGLang serve on a CPU.

Every token is one word, so that prompts of known length can be sent and what comes back can be counted.
"""

import json
import pathlib
import sys

import torch
from safetensors.torch import save_file
from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers

WORDS, WIDTH, INNER, LAYERS, HEADS, LENGTH = 1024, 512, 1536, 8, 8, 4096
SPECIAL = ["<s>", "</s>", "<unk>"]

folder = pathlib.Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)


def write(name, content):
    (folder / name).write_text(json.dumps(content, indent=1))


vocabulary = {word: i for i, word in enumerate(SPECIAL + [f"w{i}" for i in range(WORDS - len(SPECIAL))])}
tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
tokenizer.add_special_tokens([AddedToken(word, special=True) for word in SPECIAL])
tokenizer.save(str(folder / "tokenizer.json"))
write("tokenizer_config.json", {
    "tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "model_max_length": LENGTH,
    "chat_template": "{% for m in messages %}{{ m['content'] }} {% endfor %}",
})
write("config.json", {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "torch_dtype": "bfloat16", "vocab_size": WORDS, "hidden_act": "silu",
    "hidden_size": WIDTH, "intermediate_size": INNER, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "num_key_value_heads": HEADS,
    "head_dim": WIDTH // HEADS, "max_position_embeddings": LENGTH, "rms_norm_eps": 1e-6, "rope_theta": 10000.0, "attention_bias": False,
    "bos_token_id": 0, "eos_token_id": 1, "tie_word_embeddings": False,
})
write("generation_config.json", {"bos_token_id": 0, "eos_token_id": 1})

torch.manual_seed(0)


def random(*shape):
    return (torch.randn(shape) * 0.02).to(torch.bfloat16)


weights = {"model.embed_tokens.weight": random(WORDS, WIDTH), "lm_head.weight": random(WORDS, WIDTH), "model.norm.weight": torch.ones(WIDTH, dtype=torch.bfloat16)}
for layer in range(LAYERS):
    at = f"model.layers.{layer}."
    for part in ("q", "k", "v", "o"):
        weights[f"{at}self_attn.{part}_proj.weight"] = random(WIDTH, WIDTH)
    weights[at + "mlp.gate_proj.weight"] = random(INNER, WIDTH)
    weights[at + "mlp.up_proj.weight"] = random(INNER, WIDTH)
    weights[at + "mlp.down_proj.weight"] = random(WIDTH, INNER)
    for norm in ("input_layernorm", "post_attention_layernorm"):
        weights[f"{at}{norm}.weight"] = torch.ones(WIDTH, dtype=torch.bfloat16)
save_file(weights, str(folder / "model.safetensors"), metadata={"format": "pt"})
