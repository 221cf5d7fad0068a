"""The files of the repository, for the checks: what git tracks, or everything but build output where there is no git."""
import pathlib
import subprocess

NOT_OURS = {".git", "build", "node_modules", "__pycache__", ".cache"}
BINARY = {".bin", ".gz", ".zst", ".stallcap", ".sqlite", ".png", ".woff2"}


def files(root):
    """Paths relative to root, sorted. Untracked files that git does not ignore are included: they are about to be added."""
    root = pathlib.Path(root)
    try:
        listed = subprocess.run(
            ["git", "-C", str(root), "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            check=True, capture_output=True).stdout.decode()
        names = [pathlib.PurePosixPath(name) for name in listed.split("\0") if name]
    except (OSError, subprocess.CalledProcessError):
        names = [path.relative_to(root) for path in root.rglob("*") if path.is_file()]
        names = [name for name in names if not NOT_OURS.intersection(name.parts)]
    return sorted(name for name in set(names) if (root / name).is_file())


def text_files(root):
    """(path relative to root, text) of every file that is text."""
    for name in files(root):
        if name.suffix in BINARY:
            continue
        content = (pathlib.Path(root) / name).read_bytes()
        if b"\0" not in content[:4096]:
            yield name, content.decode(errors="replace")
