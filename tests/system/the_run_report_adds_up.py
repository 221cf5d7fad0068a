"""run: at its end the tool prints steps, tokens, a budget that adds up, over-wait, health, and where the capture lies."""
import re

from road import FOLDER, TOKEN_LOOP, tool

capture = FOLDER / "run.stallcap"
done = tool("run", "--capture", capture, "--", TOKEN_LOOP, 100)
assert done.returncode == 0, done
text = done.stderr
for part in ("per step", "per token", "steps ", "tokens ", "over-wait", "health: ", str(capture)):
    assert part in text, f"{part!r} is not in:\n{text}"
sums = re.search(r"adds up +([\d,]+) ns in lines, ([\d,]+) ns of wall time", text)
assert sums and sums[1] == sums[2], text
assert re.search(r"tokens +(396|400),", text), text

# The printed columns sum to what is printed under them.
rows = re.findall(r"^(?:gpu|host|idle|unknown)\.\w+ +([\d,.]+) +([\d.]+) ", text, re.M)
total = re.search(r"^ +([\d,.]+) +100\.0 ", text, re.M)[1]
whole = lambda number: int(number.replace(",", "").replace(".", ""))
assert rows and sum(whole(cell) for cell, _ in rows) == whole(total), text
assert sum(whole(share) for _, share in rows) == 1000, text
