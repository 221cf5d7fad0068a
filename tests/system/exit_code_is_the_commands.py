"""run: exit code and output are the command's own; a signal that ends it reads 128 + N."""
from road import TOKEN_LOOP, one_line, tool

for code in (0, 1, 3, 42):
    done = tool("run", "--quiet", "--", TOKEN_LOOP, 3, code)
    assert done.returncode == code, done
    assert done.stdout == "token_loop: done\n", done
    assert done.stderr == "", done
assert tool("run", "--quiet", "--", "sh", "-c", "kill -9 $$").returncode == 137
# Options of the command are the command's, also without --.
assert tool("run", "--quiet", "sh", "-c", "exit 5").returncode == 5
assert tool("run", "--quiet", "--", "sh", "-c", 'test "$1" = -- && exit 6', "sh", "--").returncode == 6
# So is a -- that stands behind its first word; what stands before the command and is no option of ours is refused.
assert tool("run", "--quiet", "sh", "-c", 'test "$1$2" = --x && exit 8', "sh", "--", "x").returncode == 8
done = tool("run", "--caputre", "file", "--", TOKEN_LOOP, 3)
assert done.returncode == 2 and done.stdout == "", done
one_line(done.stderr, "--caputre", "stallscope run --help")
