#!/usr/bin/env python3
"""Writes a small llama model with random weights, for runs in which only the engine's timing matters.

The file is the same for the same arguments, byte for byte. llama.cpp asks for: the llama architecture's sizes, a
tokenizer (here the smallest SentencePiece one: three control tokens, the 256 byte tokens, and made-up words that fill
the vocabulary), and the tensors of every layer. What the model says is noise; how it is decoded is real.

usage: write_gguf.py OUT [--layers 8] [--embedding 256] [--vocab 2048] [--seed 1]
"""
import argparse
import os
import sys

import gguf
import numpy

HEAD_DIMENSION = 64  # a size for which llama.cpp's CUDA backend has a flash-attention kernel
CONTEXT_TOKENS = 4096
FIRST_WORD = 3 + 256  # after <unk>, <s>, </s> and the byte tokens


def vocabulary(vocab):
    """Tokens, scores and types; earlier words score higher, as in a trained SentencePiece model."""
    tokens = [b"<unk>", b"<s>", b"</s>"]
    types = [gguf.TokenType.UNKNOWN, gguf.TokenType.CONTROL, gguf.TokenType.CONTROL]
    tokens += [f"<0x{byte:02X}>".encode() for byte in range(256)]
    types += [gguf.TokenType.BYTE] * 256
    # U+2581 is SentencePiece's mark for the space before a word.
    tokens += [f"\u2581w{index}".encode() for index in range(FIRST_WORD, vocab)]
    types += [gguf.TokenType.NORMAL] * (vocab - FIRST_WORD)
    scores = [0.0] * FIRST_WORD + [-float(index) for index in range(FIRST_WORD, vocab)]
    return tokens, scores, types


def write(path, layers, embedding, vocab, seed):
    heads = embedding // HEAD_DIMENSION
    kv_heads = max(1, heads // 2)
    feed_forward = 3 * embedding
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("stallscope random weights")
    writer.add_context_length(CONTEXT_TOKENS)
    writer.add_embedding_length(embedding)
    writer.add_block_count(layers)
    writer.add_feed_forward_length(feed_forward)
    writer.add_head_count(heads)
    writer.add_head_count_kv(kv_heads)
    writer.add_rope_dimension_count(HEAD_DIMENSION)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(vocab)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_F16)
    tokens, scores, types = vocabulary(vocab)
    writer.add_tokenizer_model("llama")
    writer.add_token_list(tokens)
    writer.add_token_scores(scores)
    writer.add_token_types(types)
    writer.add_unk_token_id(0)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_add_bos_token(True)

    random = numpy.random.default_rng(seed)

    def matrix(name, rows, columns):
        # Scaled as a trained model's weights are, so that activations stay finite in half precision.
        values = random.standard_normal((rows, columns), dtype=numpy.float32) / numpy.float32(columns) ** 0.5
        writer.add_tensor(name, values.astype(numpy.float16))

    def norm(name):
        writer.add_tensor(name, numpy.ones(embedding, dtype=numpy.float32))

    matrix("token_embd.weight", vocab, embedding)
    for layer in range(layers):
        norm(f"blk.{layer}.attn_norm.weight")
        matrix(f"blk.{layer}.attn_q.weight", heads * HEAD_DIMENSION, embedding)
        matrix(f"blk.{layer}.attn_k.weight", kv_heads * HEAD_DIMENSION, embedding)
        matrix(f"blk.{layer}.attn_v.weight", kv_heads * HEAD_DIMENSION, embedding)
        matrix(f"blk.{layer}.attn_output.weight", embedding, heads * HEAD_DIMENSION)
        norm(f"blk.{layer}.ffn_norm.weight")
        matrix(f"blk.{layer}.ffn_gate.weight", feed_forward, embedding)
        matrix(f"blk.{layer}.ffn_up.weight", feed_forward, embedding)
        matrix(f"blk.{layer}.ffn_down.weight", embedding, feed_forward)
    norm("output_norm.weight")
    matrix("output.weight", vocab, embedding)

    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--embedding", type=int, default=256, help=f"a multiple of {HEAD_DIMENSION}")
    parser.add_argument("--vocab", type=int, default=2048, help=f"more than {FIRST_WORD}")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    if arguments.embedding % HEAD_DIMENSION or arguments.vocab <= FIRST_WORD or arguments.layers < 1:
        parser.error(f"--embedding must be a multiple of {HEAD_DIMENSION}, --vocab more than {FIRST_WORD}, --layers positive")
    unfinished = f"{arguments.out}.{os.getpid()}"
    write(unfinished, arguments.layers, arguments.embedding, arguments.vocab, arguments.seed)
    os.replace(unfinished, arguments.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
