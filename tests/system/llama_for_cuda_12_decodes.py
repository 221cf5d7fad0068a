"""llama.cpp's CUDA 12 build decodes unmodified on the simulated GPU: one and several sequences, graphs on and off."""
from llama import Engine

llama = Engine("llama.cpp-cuda12", "libcudart.so.12")
for sequences in (1, 3):
    for graphs in (True, False):
        llama.check(sequences, graphs)
