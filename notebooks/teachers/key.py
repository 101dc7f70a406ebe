"""The answers to the exercises, for teachers. Numbers are computed by the same functions that check them.

    python3 notebooks/teachers/key.py                      prints all answers, with reasons
    python3 notebooks/teachers/key.py --test               holds the exercises to this key
    python3 notebooks/teachers/key.py --solve IN OUT       writes a notebook with the answers in place
"""

import json
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from exercises import EXERCISES, check  # noqa: E402

WORDS = {"1.2": "prefill", "1.3": "summary", "2.3": "a", "3.3": "decode", "5.1": "arithmetic", "5.3": "no", "6.3": "20", "6.4": "fewer",
         "8.2": "queue", "8.3": "a", "9.2": "bubble",
         "1.4": dict(prompt=16384, answer=83), "2.4": dict(kv_heads=4, cache="fp8"), "3.5": dict(batch=96),
         "4.5": dict(batching__policy="sarathi", batching__token_budget=512), "5.5": dict(prompt=256), "6.5": dict(tokens=7, length="optimal"),
         "7.4": dict(hardware="h100", replicas=2), "8.4": dict(batching__token_budget=64),
         "9.5": dict(tensor=4, pipeline=4, data=4)}

# Designs that miss a goal.
MISSES = {"1.4": dict(prompt=2048, answer=100), "2.4": dict(kv_heads=8, cache="fp8"), "3.5": dict(batch=256), "4.5": dict(batching__policy="vllm-v1"),
          "5.5": dict(prompt=2048), "6.5": dict(tokens=7), "7.4": dict(hardware="h100", replicas=1),
          "8.4": dict(batching__token_budget=32), "9.5": dict(tensor=8, pipeline=1, data=8)}

WHY = {
    "1.1": "So short a prompt waits for the weights, as a token of the answer does, and its tokens are nearly free.",
    "1.2": "An H100 has over three times the arithmetic of an A100 and 1.6 times its bandwidth.",
    "1.4": "One token of an answer takes as long as some 200 tokens of so long a prompt.",
    "1.3": "Nobody waits for the summary. A completion needs a low TTFT, a chat both.",
    "2.1": "13.5 GB / (64 · 512 KiB).",
    "2.2": "Half the bytes a token. The weights stay.",
    "2.4": "Half the heads and half the bytes: four times as many users.",
    "2.3": "MQA shrinks the cache only, which is a small part while contexts are short.",
    "3.1": "A product has about as many FLOP for a byte as users in the batch; it crosses near the ridge.",
    "3.2": "The caches, which nobody shares, take over.",
    "3.3": "Decoding for one user is bound by memory bandwidth.",
    "3.5": "Below it tokens are too few, above it steps too long.",
    "3.4": "What is lost: kernels that do not stream at the full rate, and fixed times.",
    "4.1": "A batch of 8 takes as long as its longest answer, and others wait for all of it.",
    "4.2": "Larger chunks make longer gaps, until the budget is longer than the prompts.",
    "4.3": "On average half of the last block of each sequence.",
    "4.4": "On average 768.5 of 1,024 tokens; while answers are written, less.",
    "4.5": "512 tokens bound the step; smaller budgets make prompts wait.",
    "5.1": "Each query meets each key; only the traffic is gone.",
    "5.2": "d² is 16 times as large; the saving is smaller by nearly as much, and ends where queries, keys and values alone are moved.",
    "5.3": "There is one row of scores. Decode attention reads the cache once, which it must.",
    "5.5": "Scores grow with the square of the prompt, and are few in a short one.",
    "5.4": "32 heads × 8,192² scores are written and read, layer by layer.",
    "6.1": "A full batch has little idle arithmetic.",
    "6.2": "1 + 0.7 + 0.7² + 0.7³ + 0.7⁴.",
    "6.3": "At 20/s the batch is larger, and verifying takes arithmetic that others need.",
    "6.5": "The optimal length drafts much for one user, and little for 256.",
    "6.4": "Its ridge is lower, so that its arithmetic is full earlier.",
    "7.1": "Beyond it TPOT breaks first.",
    "7.2": "Prices are in llmsim list hardware.",
    "7.4": "Each of two H100 gets 25 requests a second.",
    "7.3": "Readers hardly notice; agents that wait for whole answers do.",
    "8.1": "82e6 · 4 bytes / 40e9 bytes a second.",
    "8.2": "In a queue errors add up: if each step is 3 % late, the hundredth in line is late by all of them.",
    "8.3": "The prediction is for the rates that were probed.",
    "8.4": "64 tokens bound the step, and so the gap; 32 leave prompts too little.",
    "9.1": "2 for the weights, 4 for their gradients, and 4 each for the copy in 32 bits and two means.",
    "9.2": "So many GPUs need stages, and few micro-batches are left to fill them.",
    "9.3": "By Young and Daly the interval is about √(2 · time of a checkpoint · time between failures). Both are a quarter.",
    "9.5": "Four tensor ranks exchange less than eight, and four stages leave a small bubble.",
    "9.4": "The longest answers leave most of the GPUs idle, and the next step waits for them.",
}


def answer(exercise):
    holds = EXERCISES[exercise][1]
    return WORDS[exercise] if exercise in WORDS else holds.truth()


def solve(notebook, numbers):
    """Puts answers in the place of the dots of a notebook, and lets its exercises run."""
    for cell in notebook["cells"]:
        if "exercise" in cell["metadata"].get("tags", []):
            cell["metadata"]["tags"].remove("skip-execution")
            cell["source"] = [re.sub(r'check\("([\d.]+)", \.\.\.\)', lambda m: f'check("{m[1]}", {numbers(m[1])!r})', line) for line in cell["source"]]
    return notebook


def test():
    """Fails where an exercise is not open in its notebook, holds for another answer, lacks three hints, or has no reason, and
    where a notebook has outputs."""
    for path in sorted(Path(__file__).resolve().parent.parent.glob("*.ipynb")):
        cells = json.loads(path.read_text())["cells"]
        if any(cell.get("outputs") for cell in cells):
            raise SystemExit(f"{path.name} has outputs; clear them")
        open_ones = {m for cell in cells for m in re.findall(r'check\("([\d.]+)", \.\.\.\)', "".join(cell["source"]))}
        if open_ones != {e for e in EXERCISES if e[0] == path.name[0]}:
            raise SystemExit(f"{path.name} has the open exercises {sorted(open_ones)}")
    for exercise, (_, _, hints) in EXERCISES.items():
        right = answer(exercise)
        others = ["nonsense", MISSES.get(exercise, "")] if exercise in WORDS else [3 * right + 1, right / 3, "nonsense"]
        for wrong in [..., *others]:
            try:
                check(exercise, wrong)
            except AssertionError:
                continue
            raise SystemExit(f"{exercise} holds for {wrong!r}")
        check(exercise, right)
        if len(hints) != 3 or exercise not in WHY:
            raise SystemExit(f"{exercise} has {len(hints)} hints; why: {WHY.get(exercise)}")


if __name__ == "__main__":
    if sys.argv[1:] == ["--test"]:
        test()
    elif len(sys.argv) == 4 and sys.argv[1] == "--solve":
        notebook = json.loads(Path(sys.argv[2]).read_text())
        Path(sys.argv[3]).write_text(json.dumps(solve(notebook, answer), indent=1, ensure_ascii=False) + "\n")
    else:
        for exercise, (question, _, _) in EXERCISES.items():
            print(f"{exercise}  {question}\n     {answer(exercise)}: {WHY[exercise]}\n")
