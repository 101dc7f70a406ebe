"""Checks answers to the exercises of the lessons: check("1.1", 40). The truth is computed with the student's own llmsim.

An exercise is a question, and a function that says whether an answer holds and, if it does not, where to look.
"""

from lessons import llmsim, scenario, steps


def number(truth, within, hint):
    """A check of a number: right within a factor of the truth, or else told to be too low or too high."""
    def check(answer):
        right = truth()
        if right / within <= answer <= right * within:
            return None
        return f"{answer:g} is too {'low' if answer < right else 'high'}. {hint}"
    return check


def word(right, hint):
    """A check of a word."""
    def check(answer):
        return None if str(answer).strip().lower() == right else hint
    return check


def prompt_as_long_as_a_token():
    """The tokens of a prompt that take as long as one token of the answer."""
    lengths = [8, 16, 24, 32, 40, 48, 64, 96, 128]
    _, step = steps("llama-3.1-8b", "a100-80gb", prompts=lengths)
    return max(n for n in lengths if step[f"prefill {n}"]["time"] <= 1.05 * step["decode 1"]["time"])


def cache_outweighs():
    m = llmsim("memory", "llama-2-7b", "a100-80gb")
    return m["weights"] / (64 * m["kv_bytes_per_token"])


def batch_where_products_are_bound():
    """The smallest of the usual batches at which a product of matrices is bound by arithmetic."""
    batches = [16, 32, 64, 128, 256, 512]
    _, step = steps("llama-3.1-8b", "h100", batches=batches, context=512)
    bound = {b: any(o["bound"] == "compute" for o in step[f"decode {b}"]["operators"] if "attention" not in o["name"]) for b in batches}
    return next(b for b in batches if bound[b])


def gap_of_chunks():
    r = scenario("chat", batching__policy="sarathi", batching__token_budget=2048, workload__requests=1000)
    return r["p99_itl_ms"]


def drafts_of_128():
    r = scenario("speculation-batch", workload__arrivals__users=128, workload__requests=552, speculation__tokens=3)
    return r["speculation_speedup"]["tpot"]


def rate_of_one():
    rates = [5, 10, 15, 20, 25, 30, 35, 40]
    return max(r for r in rates if scenario("chat", workload__rate=f"{r}/s", workload__requests=3000)["slo_met"])


EXERCISES = {
    "1.1": ("tokens of a prompt that take as long as a token of the answer",
            number(prompt_as_long_as_a_token, 1.6, "Print the times of steps with prompts of 16, 32, 64 and 128.")),
    "1.2": ("which phase gains more from an H100: prefill or decode",
            word("prefill", "Compare the peaks of both with their bandwidths.")),
    "2.1": ("the context at which the cache of 64 users outweighs the weights of Llama-2-7B, in tokens",
            number(cache_outweighs, 1.1, "Divide the bytes of the weights by those of a token of 64 users.")),
    "3.1": ("the smallest batch, of powers of two, at which a product of matrices is bound by arithmetic",
            number(batch_where_products_are_bound, 1.01, "Look at the operators of each step.")),
    "4.2": ("the gap between tokens, p99, of Sarathi with a budget of 2,048, in ms",
            number(gap_of_chunks, 1.1, "scenario(\"chat\", batching__policy=\"sarathi\", batching__token_budget=2048, workload__requests=1000)")),
    "5.3": ("does FlashAttention help where one token is decoded: yes or no",
            word("no", "How large is the matrix of scores for one query?")),
    "6.0": ("three drafts for 128 users: how many times as fast",
            number(drafts_of_128, 1.05, "It is what gain(128, tokens=3) returns.")),
    "7.0": ("up to which rate one H100 meets the SLO, requests a second, in steps of 5",
            number(rate_of_one, 1.01, "The first picture of the lesson shows it.")),
}


def check(exercise, answer):
    """Says whether an answer holds. A wrong one raises an error, so that a notebook with one does not run to its end."""
    question, holds = EXERCISES[exercise]
    wrong = holds(answer)
    assert wrong is None, f"{exercise}, {question}: {wrong}"
    print(f"{exercise}: right. ({question}: {answer})")
