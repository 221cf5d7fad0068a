"""llama.cpp's CUDA 13 build decodes unmodified on the simulated GPU: one and several sequences, graphs on and off."""
from llama import Engine

llama = Engine("llama.cpp", "libcudart.so.13")
for sequences in (1, 3):
    for graphs in (True, False):
        llama.check(sequences, graphs)
