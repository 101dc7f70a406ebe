"""Checks answers to the exercises of the lessons: check("1.1", 40). The truth of a number is computed with the student's own llmsim,
and a design is simulated with it.

An exercise is open until its check has an answer, and hint("1.1") gives three hints, one at a time. The answers are in
teachers/key.py; a word is known here by its hash only.
"""

import json
from hashlib import sha256
from pathlib import Path
from statistics import median

from lessons import llmsim, scenario, steps

HOST = Path(__file__).resolve().parent / "host.yaml"


# What went wrong where a number is the right one times such a factor, in any exercise.
SLIPS = [(1000, "that is in a unit a thousand times smaller than the one that is asked for"),
         (0.001, "that is in a unit a thousand times larger than the one that is asked for"),
         (100, "that is in percent, and a share is asked for"), (0.01, "that is a share, and percent are asked for")]


def number(truth, within, *causes):
    """A check of a number: right within a factor of the truth, or else told what leads to it, or that it is too low or too high. A cause
    is a wrong number, or a function of the right one, and what it comes from."""
    def check(answer):
        right = truth()
        if right / within <= answer <= right * within:
            return None
        wrong = [(w(right) if callable(w) else w, why) for w, why in causes]
        wrong += [(right * factor, why) for factor, why in SLIPS] + [(1 / right, "the fraction is turned over")]
        for value, why in wrong:
            if abs(answer - value) <= 0.02 * abs(value):
                return f"{answer:g}: {why}."
        return f"{answer:g} is too {'low' if answer < right else 'high'}."
    check.truth = truth
    return check


def design(trial):
    """A check of a design, such as dict(batch=8): trial simulates it, and returns (what, value, least, most) for each goal."""
    def check(answer):
        try:
            missed = [f"{what} is {value:.4g}, which should be at {f'least {least}' if value < least else f'most {most}'}"
                      for what, value, least, most in trial(**answer) if not least <= value <= most]
        except RuntimeError as refused:
            return str(refused)
        return "; ".join(missed) + "." if missed else None
    return check


def word(digest):
    """A check of a word, of which the hash is known."""
    def check(answer):
        return None if sha256(str(answer).strip().lower().encode()).hexdigest()[:12] == digest else f"It is not “{answer}”."
    return check


def prompt_as_long_as_a_token():
    """The tokens of a prompt that take as long as one token of the answer."""
    lengths = [8, 16, 24, 32, 40, 48, 64, 96, 128]
    _, step = steps("llama-3.1-8b", "a100-80gb", prompts=lengths)
    return max(n for n in lengths if step[f"prefill {n}"]["time"] <= 1.05 * step["decode 1"]["time"])


def cache_outweighs():
    m = llmsim("memory", "llama-2-7b", "a100-80gb")
    return m["weights"] / (64 * m["kv_bytes_per_token"])


def users_of_a_small_cache():
    plain, small = (llmsim("memory", "llama-2-7b", "a100-80gb", f"--set=engine.kv-cache={kind}") for kind in ("fp16", "fp8"))
    return small["kv_tokens"] / plain["kv_tokens"]


def batch_where_products_are_bound():
    """The smallest of the usual batches at which a product of matrices is bound by arithmetic."""
    batches = [16, 32, 64, 128, 256, 512]
    _, step = steps("llama-3.1-8b", "h100", batches=batches, context=512)
    bound = {b: any(o["bound"] == "compute" for o in step[f"decode {b}"]["operators"] if "attention" not in o["name"]) for b in batches}
    return next(b for b in batches if bound[b])


def step_of_64_far_back():
    _, step = steps("llama-3.1-8b", "h100", batches=[1, 64], context=8192)
    return step["decode 64"]["time"] / step["decode 1"]["time"]


def share_of_the_law():
    return 100 * median(d["decode"]["measured"] / d["decode"]["law"] for d in llmsim("explain", "--devices"))


def rate_of_static():
    return max(r for r in range(1, 7) if scenario("chat", batching__policy="static", workload__rate=f"{r}/s",
                                                  workload__requests=1000)["median_ttft_ms"] < 10000)


def gap_of_chunks():
    return scenario("chat", batching__policy="sarathi", batching__token_budget=2048, workload__requests=1000)["p99_itl_ms"]


def lost_in_large_blocks():
    return 100 * scenario("attention-mha", memory__block_size=256)["kv_internal_share"]


def saving(d, n=4096, m=192 * 1024 / 2):
    return (n * d + n * n) / max(n * n * d * d / m, n * d)


def scores_through_memory():
    times = [steps("llama-3.1-8b", "a100-80gb", prompts=[8192], attention=kernel)[1]["prefill 8192"]["time"] for kernel in ("naive", "flash")]
    return times[0] / times[1]


def drafts_of_128():
    r = scenario("speculation-batch", workload__arrivals__users=128, workload__requests=552, speculation__tokens=3)
    return r["speculation_speedup"]["tpot"]


def rate_kept(step, most, **settings):
    """The highest rate, in steps, at which chat on one H100 meets its SLO."""
    return max(r for r in range(step, most + 1, step)
               if scenario("chat", workload__rate=f"{r}/s", workload__requests=3000, **settings)["slo_met"])


def price_of_two_a100():
    cost = [scenario("chat", workload__rate="20/s", workload__requests=3000, **s)["cost_per_million_output_tokens"]
            for s in (dict(hardware="a100-80gb", replicas=2), {})]
    return cost[0] / cost[1]


def train(gpus):
    return llmsim("train", "llama-3-70b", "h100", f"--gpus={gpus}", "--global-batch=2048", "--tokens=15T")


def bytes_a_parameter():
    """What AdamW keeps for each parameter, of eight accelerators that share its states."""
    r = llmsim("train", "llama-3.1-8b", "h100", "--gpus=8", "--tensor=1", "--pipeline=1", "--data=8", "--zero=1")
    kept = {line["name"]: line["bytes"] for line in r["memory"]["lines"]}
    return 2 * (kept["weights"] + kept["gradients"] + 8 * (kept["master weights"] + kept["first mean"] + kept["second mean"])) / kept["weights"]


def checkpoints_as_often():
    few, many = (train(gpus)["failures"]["interval_s"] for gpus in (1024, 4096))
    return few / many


def faster_if_even():
    r = llmsim("train", "rl", "llama-3.1-8b", "h100", "--gpus=16", "--prompts=64", "--samples=32", "--answer=900", "--answer-max=4096")
    return r["generate_s"] / r["generate_even_s"]


def halves(prompt, answer):
    step = steps("llama-3.1-8b", "a100-80gb", prompts=[prompt], context=prompt)[1]
    share = step[f"prefill {prompt}"]["time"] / answer / step["decode 1"]["time"]
    return ("the answer", answer, 50, 4096), ("the time of the prompt over that of the answer", share, 0.9, 1.1)


def room(kv_heads, cache):
    m = llmsim("memory", "llama-3.1-8b", "a100-80gb", f"--set=shape.kv-heads={kv_heads}", f"--set=engine.kv-cache={cache}")
    return ("the number of KV heads", kv_heads, 4, 32), ("the number of users with 4,096 tokens", m["kv_tokens"] // 4096, 400, 9999)


def brisk(batch):
    time = steps("llama-3.1-8b", "h100", batches=[batch], context=2048)[1][f"decode {batch}"]["time"]
    return ("the step in ms", 1e3 * time, 0, 20), ("tokens a second", batch / time, 5500, 1e6)


def smooth(**settings):
    r = scenario("chat", workload__requests=1000, **settings)
    return ("the gap between tokens, p99, in ms", r.get("p99_itl_ms", 1e9), 0, 15), ("TTFT p99 in ms", r["p99_ttft_ms"], 0, 200)


def plain_kernel(prompt):
    times = [steps("llama-3.1-8b", "a100-80gb", prompts=[prompt], attention=kernel)[1][f"prefill {prompt}"]["time"] for kernel in ("naive", "flash")]
    return ("the prompt", prompt, 256, 8192), ("its time with scores in memory over that without", times[0] / times[1], 0, 1.1)


def drafts_for_all(**speculation):
    gains = [scenario("speculation-batch", workload__arrivals__users=users, workload__requests=4 * users + 40,
                      **{f"speculation__{k}": v for k, v in speculation.items()})["speculation_speedup"]["tpot"] for users in (1, 256)]
    return ("the gain of one user", gains[0], 2.5, 99), ("the gain of 256 users", gains[1], 1, 99)


def fleet(hardware, replicas):
    r = scenario("chat", workload__rate="50/s", workload__requests=2000, hardware=hardware, replicas=replicas)
    return ("the share that meets the SLO", r["slo_attainment"]["all"], 0.99, 1), \
        ("the price of an hour in $", replicas * r["cost"] / r["accelerator_hours"], 0, 7)


def calm_overload(**settings):
    """The cross-check v1-overload, predicted for the computer of host.yaml."""
    lengths = "prompt: {distribution: uniform, min: 16, max: 96}, output: {distribution: uniform, min: 8, max: 40}"
    r = scenario("chat", seed=1, model="distilgpt2", hardware=f"{{file: {json.dumps(str(HOST))}, accelerator: host}}", engine="llmsim-gpt2",
                 batching="{policy: vllm-v1, max-sequences: 16, token-budget: 256}", workload=f"{{rate: 30/s, requests: 64, {lengths}}}", **settings)
    return ("the gap between tokens, p99, in ms", r["p99_itl_ms"], 0, 32), ("TTFT p99 in ms", r["p99_ttft_ms"], 0, 250)


def layout(tensor, pipeline, data):
    r = llmsim("train", "llama-3-70b", "h100", "--gpus=64", "--global-batch=256", f"--tensor={tensor}", f"--pipeline={pipeline}", f"--data={data}")
    used = sum(line["bytes"] for line in r["memory"]["lines"]) / r["memory"]["capacity"]
    return ("the share of memory that is used", used, 0, 0.9), ("the MFU", r["mfu"], 0.5, 1)


EXERCISES = {
    "1.1": ("tokens of a prompt that take as long as a token of the answer", number(prompt_as_long_as_a_token, 1.6, (1, "one token waits for the weights, and so do more of them")),
            ["Both read all weights once. When does a prompt begin to take longer than that?",
             "Print the times of steps with prompts of 16, 32, 64 and 128.",
             'steps("llama-3.1-8b", "a100-80gb", prompts=[16, 32, 64, 128]): compare with step["decode 1"]["time"].']),
    "1.2": ("which phase gains more from an H100: prefill or decode", word("57bf34565be1"),
            ["What is each phase bound by?", "Compare the peaks of both GPUs, and their bandwidths: llmsim list hardware.",
             "One ratio is above 3, the other below 2."]),
    "1.3": ("who needs neither a low TTFT nor a low TPOT: a chat, a completion of code, or a summary by night (one word: chat, completion, summary)",
            word("761b7ad8ad43"), ["For whom does somebody wait?", "A completion has few tokens: which of both counts?", "A job counts tokens an hour."]),
    "1.4": ("a request whose prompt takes as long as its answer, within a tenth, with 50 tokens of answer or more", design(halves),
            ["How many tokens of a prompt take as long as one of the answer?", "Of a long prompt, more than of a short one are needed: print both times.",
             "dict(prompt=16384, answer=…)"]),
    "2.1": ("the context at which the cache of 64 users outweighs the weights of Llama-2-7B, in tokens", number(cache_outweighs, 1.1, (lambda n: 64 * n, "that is for one user, and 64 have caches")),
            ["Weights are read once a step, caches once for each user.", "Divide the bytes of the weights by those of a token of 64 users.",
             'm["weights"] / (64 * m["kv_bytes_per_token"])']),
    "2.2": ("how many times as many tokens fit with a cache in 8 bits", number(users_of_a_small_cache, 1.05, (1, "a token takes half the bytes")),
            ["What changes for a token, and what stays?", 'memory("llama-2-7b", engine__kv_cache="fp8")', "Divide the two kv_tokens."]),
    "2.3": ("why MQA does not make a model 71 times as fast: (a) the weights are still read, (b) heads wait for each other, (c) it makes more tokens",
            word("ca978112ca1b"), ["What else does a step read?", "Compare the bytes of the weights with those of the cache, for one user.", "Lesson 1 has the picture of a step."]),
    "2.4": ("KV heads, four at least, and a cache with which 400 users have room", design(room),
            ["What does a user take?", "Heads and bytes both count.", 'dict(kv_heads=…, cache="fp8"), where cache can be "fp16"']),
    "3.1": ("the smallest batch, of powers of two, at which a product of matrices is bound by arithmetic", number(batch_where_products_are_bound, 1.01),
            ["A product has two FLOP for each weight and user.", 'Look at step["decode 256"]["operators"], and at "bound".',
             "Leave attention out, and go through the batches from 16 on."]),
    "3.2": ("with context=8192, how many times as long a step of 64 users takes as one of one user", number(step_of_64_far_back, 1.05, (64, "the weights are read once for all"), (1, "each user has a cache, and all are read")),
            ["Nobody shares a cache.", 'steps("llama-3.1-8b", "h100", batches=[1, 64], context=8192)', 'Divide the two ["time"].']),
    "3.3": ("which phase of one user's request is as long on a GPU with twice the FLOP/s: prefill or decode", word("713a1417c769"),
            ["Which one waits for memory?", "Read llmsim explain llama-3.1-8b h100.", "The FLOP/s stand idle in it."]),
    "3.4": ("the share of the law of decoding that the machines of the last picture reach, median, in percent", number(share_of_the_law, 1.05),
            ["How far do the points lie under the line?", 'A point is d["decode"]["measured"] over d["decode"]["law"].', "statistics.median over devices, times 100."]),
    "3.5": ("a batch with 5,500 tokens a second or more and steps of 20 ms or less, with context=2048", design(brisk),
            ["Which of the two does a larger batch help?", 'steps("llama-3.1-8b", "h100", batches=[64, 96, 128], context=2048)', "dict(batch=…), between 64 and 128"]),
    "4.1": ("the highest whole rate at which static batches have a median TTFT below ten seconds, requests a second", number(rate_of_static, 1.01),
            ["A batch takes as long as its longest answer.", 'scenario("chat", batching__policy="static", workload__rate="3/s", workload__requests=1000)',
             "Try 1 to 6."]),
    "4.2": ("the gap between tokens, p99, of Sarathi with a budget of 2,048, in ms", number(gap_of_chunks, 1.1),
            ["A larger chunk makes a longer step.", "The budget is batching__token_budget.",
             'scenario("chat", batching__policy="sarathi", batching__token_budget=2048, workload__requests=1000)["p99_itl_ms"]']),
    "4.3": ("the share of memory that is empty within requests' last blocks, with blocks of 256, in percent", number(lost_in_large_blocks, 1.05),
            ["How many blocks of a request are not full, and how much of these is empty?", 'scenario("attention-mha", memory__block_size=256)', "kv_internal_share, times 100."]),
    "4.4": ("the share of their memory that requests fill in the end, in percent, if their lengths are spread evenly from 513 to 1,024 tokens and "
            "pieces are powers of two", number(lambda: 75.05, 1.01, (50, "that is the shortest of them"), (100, "only the longest fills its piece")),
            ["How long is the piece of each?", "All have pieces of 1,024 tokens.", "Divide the mean length by 1,024, times 100."]),
    "4.5": ("settings of batching with gaps between tokens of at most 15 ms and a TTFT of at most 200 ms, both p99", design(smooth),
            ["Which policy cuts prompts?", "Its budget trades one for the other.", 'dict(batching__policy="sarathi", batching__token_budget=…)']),
    "5.1": ("what still grows with N² in the tiled algorithm: traffic or arithmetic", word("ca75eaf4e00c"),
            ["What does the algorithm not write?", "Each query still meets each key.", "One of the two words is in the name of the lesson's law."]),
    "5.2": ("how many times smaller the saving at N = 4,096 is with heads 256 wide than with 64", number(lambda: saving(64) / saving(256), 1.05, (16, "the saving ends where queries, keys and values alone are moved")),
            ["FlashAttention moves about N²·d²/M.", "Compute standard / flash for d = 64 and d = 256.", "Divide the two."]),
    "5.3": ("does FlashAttention help where one token is decoded: yes or no", word("9390298f3fb0"),
            ["How large is the matrix of scores for one query?", "What must be read anyway?", "Look at the token of the answer under both kernels."]),
    "5.4": ("how many times as long a prompt of 8,192 takes with scores in memory, on an A100", number(scores_through_memory, 1.05),
            ["The last picture shows it.", 'attention="naive" against "flash".', 'Divide the two step["prefill 8192"]["time"].']),
    "5.5": ("a prompt of 256 tokens or more for which scores in memory cost a tenth at most", design(plain_kernel),
            ["What do scores grow with?", "Print both times of short prompts.", "dict(prompt=…), below 512"]),
    "6.1": ("three drafts for 128 users: how many times as fast", number(drafts_of_128, 1.05),
            ["Is a full batch bound by memory?", "The lesson has a function for it.", "gain(128, tokens=3)"]),
    "6.2": ("tokens a step with four drafts and an acceptance of 0.7, by the law", number(lambda: (1 - 0.7 ** 5) / 0.3, 1.01, (3.8, "a draft counts only if all before it do"), (lambda n: n - 1, "the model adds a token of its own")),
            ["A draft counts only if all before it were accepted.", "Add 1 + 0.7 + 0.7² + …", "tokens_a_step(0.7, 4)"]),
    "6.3": ("at which rate do rejected drafts take time from other users: 4/s or 20/s (4 or 20)", word("f5ca38f748a1"),
            ["Whose arithmetic is idle?", 'Compare scenario("speculation-on", workload__rate="20/s") with "4/s".', "The larger batch has less to spare."]),
    "6.4": ("from how many users on verifying drafts is bound by arithmetic: from more or from fewer on an A100 than on an H100 (more or fewer)", word("644dbfd4924e"),
            ["Where is its ridge?", "It has less arithmetic for its bandwidth.", "A lower ridge is reached by a smaller batch."]),
    "6.5": ("settings of speculation with which one user gets a token 2.5 times as fast, and 256 users lose nothing", design(drafts_for_all),
            ["One number for all batches will not do.", "The last table of the lesson has a policy for it.", 'dict(tokens=…, length="optimal")']),
    "7.1": ("up to which rate one H100 meets the SLO, requests a second, in steps of 5", number(lambda: rate_kept(5, 40), 1.01),
            ["The first picture of the lesson shows it.", "Where does the curve leave 99 %?", "kept(rate)[\"slo_met\"] for 5, 10, 15, …"]),
    "7.2": ("at 20 requests a second, how many times as much two A100 cost for a token as one H100", number(price_of_two_a100, 1.05),
            ["What does an hour of each cost?", 'kept(20, hardware="a100-80gb", replicas=2)', "Divide cost_per_million_output_tokens of both."]),
    "7.3": ("up to which rate one H100 meets an SLO with 60 ms a token, in steps of 10", number(lambda: rate_kept(10, 120, slo__tpot="60ms"), 1.01),
            ["A larger batch fits into 60 ms.", 'kept(rate, slo__tpot="60ms")', "Try 40, 50, 60, …"]),
    "7.4": ("a fleet that keeps the SLO at 50 requests a second for $7 an hour or less", design(fleet),
            ["Up to which rate does one H100 keep it?", "llmsim list hardware has prices.", 'dict(hardware="h100", replicas=…)']),
    "8.1": ("milliseconds to read 82 million parameters in fp32 at 40 GB/s", number(lambda: 8.2, 1.05, (4.1, "you count two bytes; fp32 has four"), (2.05, "you count one byte; fp32 has four")),
            ["How many bytes are they?", "Four bytes each.", "328 MB / 40 GB/s"]),
    "8.2": ("what TTFT has and a step has not, so that small errors add up in it (one word)", word("00b109cf1123"),
            ["What happens before the first step of a request?", "Look at the overload.", "It begins with q."]),
    "8.3": ("why a cross-check does not count when another program used the memory: (a) the rates that were probed were no longer those of the run, "
            "(b) GPT-2 gave other words, (c) the clock was wrong", word("ca978112ca1b"),
            ["What was measured before the run?", "Streams of weights take longer while others read.", "A prediction is for one machine in one state."]),
    "8.4": ("settings of batching for the overload with gaps between tokens of at most 32 ms and a TTFT of at most 250 ms, both p99", design(calm_overload),
            ["What makes a gap long, where prompts join a batch?", "The scenario takes up to 256 tokens a step. Fewer make gaps shorter, and prompts wait.",
             "dict(batching__token_budget=…), between 32 and 96"]),
    "9.1": ("bytes that training with AdamW keeps for each parameter, without activations, if nothing is shared", number(bytes_a_parameter, 1.05,
             (16, "you count gradients in 16 bits; here they are kept in 32"), (6, "that is weights and gradients; the optimizer remembers more"),
             (12, "that is what the optimizer remembers; weights and gradients are kept as well"), (14, "you leave out the gradients")),
            ["Which lines of the memory belong to the weights?", "Weights have 2 bytes. How many times as long are the other bars, before eight GPUs share them?",
             "2 for the weights, 4 for gradients, and three numbers of 4 bytes."]),
    "9.2": ("the part that takes a share of a step at 16,384 GPUs and none at 1,024 (one word: forward, bubble, optimizer)", word("df4ac4162573"),
            ["Which colour is new in the last bar?", "The layout of the last bar has stages of a pipeline.", "Stages wait until the first micro-batch reaches them."]),
    "9.3": ("with 4,096 GPUs in place of 1,024, how many times as often a checkpoint is best written", number(checkpoints_as_often, 1.1, (2, "failures come four times as often, and writing takes a quarter of the time as well"), (16, "the best interval is a root of both")),
            ["The lesson prints the best interval.", "Failures are four times as frequent, and four times as many nodes write.", "Divide the two intervals."]),
    "9.4": ("how many times as fast the answers of the step would be if all were equally long", number(faster_if_even, 1.05),
            ["Who waits for whom?", "The lesson prints both times.", 'r["generate_s"] / r["generate_even_s"]']),
    "9.5": ("a layout of 64 H100 for Llama-3-70B with an MFU of 0.5 or more that uses nine tenths of the memory at most", design(layout),
            ["Tensor parallelism talks in every layer, and stages of a pipeline wait.", "tensor · pipeline · data is 64.", "dict(tensor=4, pipeline=…, data=…)"]),
}


def check(exercise, answer):
    """Says whether an answer holds. An open or a wrong one raises an error, so that a notebook with one does not run to its end."""
    question, holds, _ = EXERCISES[exercise]
    assert answer is not ..., f"{exercise} is open: {question}. (hint(\"{exercise}\") helps.)"
    try:
        wrong = holds(answer)
    except (TypeError, ValueError):
        wrong = f"{answer!r} is no answer of this kind."
    assert wrong is None, f"{exercise}, {question}: {wrong} (hint(\"{exercise}\") helps.)"
    print(f"{exercise}: right. ({question}: {answer})")


def hint(exercise, given={}):
    """Gives the next of three hints; each says more than the one before."""
    hints = EXERCISES[exercise][2]
    n = given.get(exercise, 0)
    given[exercise] = min(n + 1, len(hints) - 1)
    print(f"{exercise}, hint {n + 1} of {len(hints)}: {hints[n]}")
