"""Which GPU the demo runs on: a real one when a driver and the libraries that llama.cpp needs are there, else the simulated."""
import ctypes
import os
import pathlib


# What a kernel takes on the simulated GPU: the mean of a public trace of a Qwen model decoding on an H100. Its own default, 2.5 us,
# is a toy model's: there the agent's 1 % of the time would not pay for GPU records.
KERNEL_NS = 31000


class Gpu:
    def __init__(self, kind, name, library_folders=()):
        self.kind = kind  # what `stallscope run --gpu` takes: "real" or "simulated"
        self.name = name
        self.library_folders = [str(folder) for folder in library_folders]

    @property
    def simulated(self):
        return self.kind == "simulated"

    def environment(self):
        """For a real GPU: where its libraries lie, when that is not where the loader looks by itself."""
        if self.simulated:
            return {"SIMGPU_KERNEL_NS": os.environ.get("SIMGPU_KERNEL_NS", str(KERNEL_NS))}
        if not self.library_folders:
            return {}
        return {"LD_LIBRARY_PATH": ":".join(filter(None, [*self.library_folders, os.environ.get("LD_LIBRARY_PATH", "")]))}


def loads(name, folders):
    for candidate in [name, *(str(folder / name) for folder in folders)]:
        try:
            ctypes.CDLL(candidate)
            return True
        except OSError:
            continue
    return False


def driver_device():
    """The driver's name for device 0, or None where there is no driver or no device."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None
    device, name = ctypes.c_int(), ctypes.create_string_buffer(128)
    if driver.cuInit(0) or driver.cuDeviceGet(ctypes.byref(device), 0) or driver.cuDeviceGetName(name, 128, device):
        return None
    return name.value.decode(errors="replace")


def find(cache):
    """(gpu, note): the real GPU when it can be used, else the simulated one; the note says why not the real one."""
    name = driver_device()
    if name is None or "simulated" in name.lower():  # the simulated driver may be on LD_LIBRARY_PATH already
        return Gpu("simulated", "simulated GPU"), None
    folders = [folder for folder in pathlib.Path(cache).glob("*/nvidia/cu13/lib") if folder.is_dir()]
    missing = [library for library in ("libcudart.so.13", "libcublas.so.13") if not loads(library, folders)]
    if missing:
        return (Gpu("simulated", "simulated GPU"),
                f"there is a real GPU ({name}), but {' and '.join(missing)} cannot be loaded: the simulated GPU is used")
    return Gpu("real", name, folders), None
