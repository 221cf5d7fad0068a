"""run: a static program, or a script for one, is not started; one line says why, exit code 4."""
from road import FOLDER, TOKEN_LOOP_STATIC, one_line, skip, tool

if not TOKEN_LOOP_STATIC.exists():
    skip("no static libc to link a program with")
done = tool("run", "--", TOKEN_LOOP_STATIC, 5)
assert done.returncode == 4, done
assert "done" not in done.stdout, "it was started"
one_line(done.stderr, "static", str(TOKEN_LOOP_STATIC))

script = FOLDER / "script"
script.write_text(f"#!{TOKEN_LOOP_STATIC}\n")
script.chmod(0o755)
done = tool("run", "--", script)
assert done.returncode == 4, done
one_line(done.stderr, "static", str(script))
