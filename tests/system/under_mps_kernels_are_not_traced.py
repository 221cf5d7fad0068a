"""Under MPS a cooperative launch can hang while kernels are traced: the agent does not trace them there, and says so. The
simulated GPU ends a program in which that would happen. Known from the daemon's pipe before the first context, from the
contexts afterwards; the user can ask for kernels all the same."""
import json
import os

from road import BUILD, FOLDER, SIMULATED_GPU, check_budget, tool

MEMORY_CHURN = BUILD / "bin/memory_churn"


def run(name, *options, **environment):
    done = tool("run", "--json", "--gpu", "simulated", "--command-output", FOLDER / f"{name}.out", "--", MEMORY_CHURN, "--steps", 300,
                *options, environment={"LD_LIBRARY_PATH": f"{SIMULATED_GPU}:{os.environ.get('LD_LIBRARY_PATH', '')}",
                                       **environment})
    return done


def notices(done):
    assert done.returncode == 0, (done.stdout, done.stderr)
    return check_budget(json.loads(done.stdout))[0]["notices"]


pipes = FOLDER / "mps"
pipes.mkdir()
os.mkfifo(pipes / "control")
nowhere = FOLDER / "nowhere"

told = notices(run("mps", "--cooperative", CUDA_MPS_PIPE_DIRECTORY=str(pipes), SIMGPU_MPS="1"))
assert any("runs under MPS" in notice and "kernels are not traced" in notice for notice in told), told

# The daemon runs, but this process is none of its clients: that is known once a context has said so.
told = notices(run("beside", "--pause-us", "1000", CUDA_MPS_PIPE_DIRECTORY=str(pipes)))
assert not any("MPS" in notice for notice in told), told

# Asked for: traced, and the program that makes no cooperative launch is fine.
told = notices(run("asked", CUDA_MPS_PIPE_DIRECTORY=str(pipes), SIMGPU_MPS="1", STALLSCOPE_MPS_KERNELS="1"))
assert any("kernels are traced as asked for" in notice for notice in told), told

# No daemon, no MPS.
told = notices(run("none", "--cooperative", CUDA_MPS_PIPE_DIRECTORY=str(nowhere)))
assert not any("MPS" in notice for notice in told), told

# That the simulated GPU would have noticed.
done = run("hang", "--cooperative", CUDA_MPS_PIPE_DIRECTORY=str(pipes), SIMGPU_MPS="1", STALLSCOPE_MPS_KERNELS="1")
assert "hangs" in (FOLDER / "hang.out").read_text(errors="replace"), done
print("kernels are traced where that is safe, and where it was asked for")
