"""run: exit code and output are the command's own; a signal that ends it reads 128 + N."""
from road import TOKEN_LOOP, tool

for code in (0, 1, 3, 42):
    done = tool("run", "--quiet", "--", TOKEN_LOOP, 3, code)
    assert done.returncode == code, done
    assert done.stdout == "token_loop: done\n", done
    assert done.stderr == "", done
assert tool("run", "--quiet", "--", "sh", "-c", "kill -9 $$").returncode == 137
# Options of the command are the command's, also without --.
assert tool("run", "--quiet", "sh", "-c", "exit 5").returncode == 5
assert tool("run", "--quiet", "--", "sh", "-c", 'test "$1" = -- && exit 6', "sh", "--").returncode == 6
