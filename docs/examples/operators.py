#!/usr/bin/env python3
"""Times the operators of a model on the GPUs of this machine, and writes tables that llmsim reads.

    python3 docs/examples/operators.py --model config.json --gpu h100_sxm --out operators
    llmsim scenario s.yaml --set hardware.operators=operators

--model is the config.json of a Hugging Face model; --tensor is the tensor parallelism. All-reduces
are timed if the script is started on several GPUs: torchrun --nproc-per-node 2 docs/examples/operators.py ...
It needs PyTorch and nothing else, and takes about five minutes. The tables have the columns of
ai-dynamo/aiconfigurator: m, n, k, isl, batch_size, latency in ms and so on.

What is timed is PyTorch's kernels: cuBLAS, its scaled_dot_product_attention, NCCL. An engine may have
faster ones. Experts are timed as a loop over grouped products, which is slower than a fused kernel:
use the table of experts as an upper bound.

This script was written without a GPU at hand: it has run on none. What was tested is that llmsim reads
the tables that it writes, with a stand-in for PyTorch.
"""
import argparse
import csv
import json
import os
import time


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", required=True, help="config.json of a Hugging Face model")
    parser.add_argument("--gpu", required=True, help="name of the GPU in the tables, as h100_sxm")
    parser.add_argument("--tensor", type=int, default=1, help="tensor parallelism")
    parser.add_argument("--out", required=True, help="folder for the tables")
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--seconds", type=float, default=0.3, help="time spent on each shape")
    parser.add_argument("--quick", action="store_true", help="few small shapes, to try the script")
    return parser.parse_args()


class Timer:
    """Times a function on a device, in ms: the median of several runs after a warm-up."""

    def __init__(self, torch, device, seconds):
        self.torch, self.device, self.seconds = torch, device, seconds

    def wait(self):
        if self.device == "cuda":
            self.torch.cuda.synchronize()

    def __call__(self, run):
        for _ in range(3):
            run()
        self.wait()
        times, end = [], time.perf_counter() + self.seconds
        while len(times) < 5 or time.perf_counter() < end and len(times) < 200:
            start = time.perf_counter()
            run()
            self.wait()
            times.append(1000 * (time.perf_counter() - start))
        return sorted(times)[len(times) // 2]


def shape(config, tensor):
    """The sizes of a model that its products and its attention have on one GPU."""
    heads = config["num_attention_heads"]
    head = config.get("head_dim") or config["hidden_size"] // heads
    kv = config.get("num_key_value_heads", heads)
    return {
        "hidden": config["hidden_size"], "head": head, "heads": max(1, heads // tensor),
        "kv": max(1, kv // tensor), "vocab": config["vocab_size"],
        "inner": config.get("intermediate_size", 0) // tensor,
        "experts": config.get("num_experts") or config.get("num_local_experts") or 0,
        "active": config.get("num_experts_per_tok", 0),
        "expert": (config.get("moe_intermediate_size") or config.get("intermediate_size", 0)) // tensor,
    }


def products(s):
    """The (n, k) of the matrix products of a layer, and of the output head."""
    pairs = [((s["heads"] + 2 * s["kv"]) * s["head"], s["hidden"]),
             (s["hidden"], s["heads"] * s["head"]), (s["vocab"], s["hidden"])]
    if s["inner"] and not s["experts"]:
        pairs += [(2 * s["inner"], s["hidden"]), (s["hidden"], s["inner"])]
    return pairs


def write(folder, name, header, rows):
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, name + ".csv")
    with open(path, "w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(header)
        table.writerows(rows)
    print(f"{path}: {len(rows)} rows")


def time_products(torch, timer, s, rows, dtype):
    table = []
    for n, k in products(s):
        weight = torch.randn(n, k, device=timer.device, dtype=dtype)
        for m in rows:
            x = torch.randn(m, k, device=timer.device, dtype=dtype)
            latency = timer(lambda: torch.nn.functional.linear(x, weight))
            table.append(["bfloat16", m, n, k, f"{latency:.6f}"])
    return table


def time_prompts(torch, timer, s, lengths, dtype):
    table = []
    attend = torch.nn.functional.scaled_dot_product_attention
    for length in lengths:
        q = torch.randn(1, s["heads"], length, s["head"], device=timer.device, dtype=dtype)
        k, v = (torch.randn(1, s["heads"], length, s["head"], device=timer.device, dtype=dtype)
                for _ in range(2))
        latency = timer(lambda: attend(q, k, v, is_causal=True))
        table.append(["bfloat16", "bfloat16", 1, length, s["heads"], s["kv"], s["head"], 0,
                      f"{latency:.6f}"])
    return table


def time_answers(torch, timer, s, batches, contexts, dtype):
    table = []
    attend = torch.nn.functional.scaled_dot_product_attention
    for batch in batches:
        for context in contexts:
            if batch * context > 1 << 21:
                continue
            q = torch.randn(batch, s["heads"], 1, s["head"], device=timer.device, dtype=dtype)
            k, v = (torch.randn(batch, s["kv"], context, s["head"], device=timer.device, dtype=dtype)
                    for _ in range(2))
            latency = timer(lambda: attend(q, k, v, enable_gqa=s["heads"] != s["kv"]))
            table.append(["bfloat16", "bfloat16", batch, context, 0, s["heads"], s["kv"], s["head"],
                          f"{latency:.6f}"])
    return table


def time_experts(torch, timer, s, rows, dtype):
    if not s["experts"]:
        return []
    table = []
    up = torch.randn(s["experts"], s["hidden"], 2 * s["expert"], device=timer.device, dtype=dtype)
    down = torch.randn(s["experts"], s["expert"], s["hidden"], device=timer.device, dtype=dtype)
    for m in rows:
        each = -(-m * s["active"] // s["experts"])
        used = min(s["experts"], m * s["active"])
        x = torch.randn(used, each, s["hidden"], device=timer.device, dtype=dtype)

        def run():
            y = torch.bmm(x, up[:used])
            gate, value = y.chunk(2, dim=-1)
            torch.bmm(torch.nn.functional.silu(gate) * value, down[:used])
        table.append(["bfloat16", m, s["hidden"], s["expert"], s["active"], s["experts"], 1, 1,
                      "uniform", f"{timer(run):.6f}"])
    return table


def time_sums(torch, timer, sizes, dtype):
    ranks = int(os.environ.get("WORLD_SIZE", "1"))
    if ranks == 1:
        return [], 0
    import torch.distributed as group
    group.init_process_group("nccl" if timer.device == "cuda" else "gloo")
    rank = group.get_rank()
    if timer.device == "cuda":
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    table = []
    for size in sizes:
        x = torch.randn(size, device=timer.device, dtype=dtype)
        runs = 50  # the same number on all ranks
        for _ in range(5):
            group.all_reduce(x)
        timer.wait()
        start = time.perf_counter()
        for _ in range(runs):
            group.all_reduce(x)
        timer.wait()
        table.append(["half", ranks, size,
                      f"{1000 * (time.perf_counter() - start) / runs:.6f}"])
    group.destroy_process_group()
    return table, rank


def main():
    asked = arguments()
    import torch
    if asked.device == "cuda" and not torch.cuda.is_available():
        raise SystemExit("found no GPU; --device cpu only tries the script")
    with open(asked.model, encoding="utf-8") as file:
        s = shape(json.load(file), asked.tensor)
    timer, dtype = Timer(torch, asked.device, asked.seconds), torch.bfloat16
    rows = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192]
    lengths, batches = [128, 512, 1024, 2048, 4096, 8192, 16384], [1, 4, 16, 64, 256]
    contexts, sizes = [128, 512, 2048, 8192, 32768], [1 << i for i in range(10, 26, 2)]
    if asked.quick:
        rows, lengths, batches, contexts, sizes = [1, 16], [64], [1, 2], [64], [1024]
    with torch.inference_mode():
        sums, rank = time_sums(torch, timer, sizes, dtype)
        if rank > 0:
            return
        name = asked.gpu
        write(asked.out, f"{name}__gemm", ["gemm_dtype", "m", "n", "k", "latency"],
              time_products(torch, timer, s, rows, dtype))
        write(asked.out, f"{name}__context_attention",
              ["attn_dtype", "kv_cache_dtype", "batch_size", "isl", "num_heads", "num_key_value_heads",
               "head_dim", "step", "latency"], time_prompts(torch, timer, s, lengths, dtype))
        write(asked.out, f"{name}__generation_attention",
              ["attn_dtype", "kv_cache_dtype", "batch_size", "isl", "step", "num_heads",
               "num_key_value_heads", "head_dim", "latency"],
              time_answers(torch, timer, s, batches, contexts, dtype))
        experts = time_experts(torch, timer, s, rows, dtype)
        if experts:
            write(asked.out, f"{name}__moe",
                  ["moe_dtype", "num_tokens", "hidden_size", "inter_size", "topk", "num_experts",
                   "moe_tp_size", "moe_ep_size", "distribution", "latency"], experts)
        if sums:
            write(asked.out, f"{name}__nccl",
                  ["nccl_dtype", "num_gpus", "message_size", "latency"], sums)


if __name__ == "__main__":
    main()
