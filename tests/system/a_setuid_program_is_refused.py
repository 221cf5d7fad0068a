"""run: a setuid program is not started; one line says why, exit code 4."""
import os
import shutil

from road import FOLDER, TOKEN_LOOP, one_line, skip, tool

if os.statvfs(FOLDER).f_flag & os.ST_NOSUID:
    skip(f"{FOLDER} is mounted nosuid")
if os.geteuid() == 0:
    program = FOLDER / "privileged"
    shutil.copy(TOKEN_LOOP, program)
    os.chown(program, 65534, 65534)
    program.chmod(0o4755)
else:
    program = next((path for path in ("/usr/bin/su", "/bin/su", "/usr/bin/passwd") if os.path.exists(path)
                    and os.stat(path).st_mode & 0o4000), None)
    if program is None:
        skip("no setuid program here")
done = tool("run", "--", program, 5)
assert done.returncode == 4, done
assert "done" not in done.stdout, "it was started"
one_line(done.stderr, "setuid", str(program))
