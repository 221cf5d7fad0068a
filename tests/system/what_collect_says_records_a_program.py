"""Both ways of recording that `collect` names when it starts work as they stand there."""
import json
import re
import subprocess

from road import ENVIRONMENT, FOLDER, STALLSCOPE, TOKEN_LOOP, end, start_collector, stderr_of, tool

collector = start_collector("--listen", FOLDER / "other.sock")
said = re.search(r"record a program: (.*) -- COMMAND, or (.*) COMMAND", stderr_of(collector))
for words in (said.group(1).replace("stallscope", str(STALLSCOPE), 1) + " --quiet --", said.group(2)):
    done = subprocess.run(f"{words} {TOKEN_LOOP} 20", shell=True, env=ENVIRONMENT, capture_output=True, text=True, check=False,
                          timeout=50)
    assert done.returncode == 0, done
listed = json.loads(tool("ps", "--json", "--collector", FOLDER / "other.sock").stdout)["processes"]
assert [process["comm"] for process in listed].count("token_loop") == 2, listed
assert end(collector) == 0
