"""A program on CUDA 12's runtime is traced as one on CUDA 13's: its budget adds up."""
from llama import Engine

Engine("llama.cpp-cuda12", "libcudart.so.12").check_under_the_agent()
