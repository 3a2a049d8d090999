"""A language model of three megabytes, made in a moment, and the real llama.cpp server with it.

Run by the interpreter that has ``gguf`` and ``xllamacpp``, not by that of the tests:

    tiny_llama.py make MODEL.gguf
    tiny_llama.py serve MODEL.gguf PORT NAME

It is a Llama of two layers over bytes. Its weights say which byte follows which (nothing else
matters: the layers hold small random numbers), so that its answer to whatever is asked is
``ANSWER``; where a grammar forces it to write JSON, that is the text of every string.
"""

from __future__ import annotations

import sys
import time

ANSWER = "Olá, mundo☀!"

WIDTH, HEADS, FORWARD, LAYERS, CONTEXT = 288, 4, 64, 2, 4096
END = "<|end|>"


def letters() -> list[str]:
    """Return the 256 letters that stand for bytes in vocabularies of GPT-2's kind."""
    shown = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = iter(range(0x100, 0x200))
    return [chr(byte if byte in shown else next(hidden)) for byte in range(256)]


def make(path: str) -> None:
    """Write the model."""
    import gguf
    import numpy as np

    random = np.random.default_rng(5)

    def noise(*shape: int) -> np.ndarray:
        return (0.002 * random.standard_normal(shape)).astype(np.float32)

    vocabulary = [*letters(), "th", END]
    end = len(vocabulary) - 1
    follows = noise(len(vocabulary), WIDTH)  # [next, last]
    follows[ord("O"), :] += 0.2
    follows[ord('"'), :] += 0.5  # Where a grammar lets no letter pass.
    for weight, text in ((0.4, "O"), (0.3, ":"), (0.2, ","), (0.1, "}")):
        follows[ord(text), ord('"')] += weight
    chain = ANSWER.encode()
    assert len(set(chain)) == len(chain)
    for last, byte in zip(b"\n" + chain, chain, strict=False):
        follows[byte, last] += 1
    follows[chain[0], ord('"')] += 1
    follows[end, chain[-1]] += 1

    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("tiny")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(FORWARD)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_vocab_size(len(vocabulary))
    writer.add_file_type(0)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(vocabulary)
    kinds = [gguf.TokenType.NORMAL] * end + [gguf.TokenType.CONTROL]
    writer.add_token_types(kinds)
    writer.add_token_merges(["t h"])
    writer.add_eos_token_id(end)
    writer.add_add_bos_token(False)
    writer.add_chat_template(
        "{% for message in messages %}{{ message.role + ': ' + message.content + '\\n' }}"
        "{% endfor %}{{ 'assistant:\\n' }}"
    )
    writer.add_tensor("token_embd.weight", np.eye(len(vocabulary), WIDTH, dtype=np.float32))
    writer.add_tensor("output_norm.weight", np.ones(WIDTH, np.float32))
    writer.add_tensor("output.weight", follows)
    for layer in range(LAYERS):
        for name in ("attn_norm", "ffn_norm"):
            writer.add_tensor(f"blk.{layer}.{name}.weight", np.ones(WIDTH, np.float32))
        for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
            writer.add_tensor(f"blk.{layer}.{name}.weight", noise(WIDTH, WIDTH))
        for name in ("ffn_gate", "ffn_up"):
            writer.add_tensor(f"blk.{layer}.{name}.weight", noise(FORWARD, WIDTH))
        writer.add_tensor(f"blk.{layer}.ffn_down.weight", noise(WIDTH, FORWARD))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def serve(path: str, port: int, name: str) -> None:
    """Serve the model until the process is ended."""
    import xllamacpp

    given = xllamacpp.CommonParams()
    given.model.path = path
    given.model_alias = {name}
    given.hostnames = ["127.0.0.1"]
    given.port = port
    given.n_ctx = CONTEXT
    given.n_parallel = 2
    given.cpuparams.n_threads = 1
    given.use_jinja = True
    server = xllamacpp.Server(given)
    print("listens on", server.listening_address, flush=True)
    while True:
        time.sleep(60)


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(sys.argv[2])
    else:
        serve(sys.argv[2], int(sys.argv[3]), sys.argv[4])
