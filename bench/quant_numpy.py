#!/usr/bin/env python3
"""The published recipe on one layer of so400m shapes in NumPy, beside bench_quant.

usage: quant_numpy.py BENCH_QUANT FOLDER   (config.json, model.safetensors, images.safetensors)

Both take turns at each measurement, so that whatever else the machine does hits both alike. Prints
medians of five, and how many times as fast bench_quant is: the median of the five ratios.
"""
import json
import subprocess
import sys
import time
from statistics import median

import numpy as np

RUNS, IMAGES, BLOCK = 5, 3, 64


def load(path):
    raw = np.memmap(path, dtype=np.uint8, mode="r")
    size = int.from_bytes(raw[:8].tobytes(), "little")
    header = json.loads(raw[8 : 8 + size].tobytes())
    tensors = {}
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            data = np.frombuffer(raw[8 + size + begin : 8 + size + end].tobytes(), np.float32)
            tensors[name] = data.reshape(entry["shape"])
    return tensors


def norm(x, weight, bias):
    mean = x.mean(-1, keepdims=True)
    centred = x - mean
    variance = np.mean(centred * centred, -1, keepdims=True)
    return centred / np.sqrt(variance + np.float32(1e-6)) * weight + bias


def gelu(x):
    return 0.5 * x * (1 + np.tanh(np.float32(0.7978845608) * (x + np.float32(0.044715) * x * x * x)))


def softmax(x):
    x = np.exp(x - x.max(-1, keepdims=True))
    return x / x.sum(-1, keepdims=True)


def project(values, scale):
    """Nearest F143 number; scale is an array of exponents that broadcasts."""
    x = np.abs(np.ldexp(values, -scale))
    exponent = np.maximum(np.frexp(np.maximum(x, np.float32(1e-30)))[1] - 1, -7)
    step = np.ldexp(np.float32(1), exponent - 3)
    x = np.minimum(np.rint(x / step) * step, np.float32(240))
    return np.copysign(np.ldexp(x, scale), values).astype(np.float32)


def exponent_for(largest):
    m, e = np.frexp(largest)
    return np.where(largest == 0, 0, np.clip(np.where(m <= 0.9375, e - 8, e - 7), -32, 31))


def row_scales(weight, first, end):
    """One exponent a row for columns first..end: that of the row's 64 × 64 block."""
    rows = weight.shape[0]
    largest = np.abs(weight[:, first:end]).max(1)
    padded = np.zeros(-(-rows // BLOCK) * BLOCK, np.float32)
    padded[:rows] = largest
    return np.repeat(exponent_for(padded.reshape(-1, BLOCK).max(1)), BLOCK)[:rows]


class Layer:
    def __init__(self, tensors, config):
        prefix = "vision_model.encoder.layers.0."
        self.p = {k[len(prefix) :]: v for k, v in tensors.items() if k.startswith(prefix)}
        self.heads = config["num_attention_heads"]

    def linear(self, x, name):
        return x @ self.p[name + ".weight"].T + self.p[name + ".bias"]

    def forward(self, x, see):
        y = norm(x, self.p["layer_norm1.weight"], self.p["layer_norm1.bias"])
        see("qkv", y)
        q, k, v = (self.linear(y, f"self_attn.{n}_proj") for n in "qkv")
        width = q.shape[1] // self.heads
        mixed = np.empty_like(q)
        for h in range(self.heads):
            at = slice(h * width, (h + 1) * width)
            scores = softmax(q[:, at] @ k[:, at].T * np.float32(width**-0.5))
            mixed[:, at] = scores @ v[:, at]
        see("out", mixed)
        x = x + self.linear(mixed, "self_attn.out_proj")
        y = norm(x, self.p["layer_norm2.weight"], self.p["layer_norm2.bias"])
        see("fc1", y)
        hidden = gelu(self.linear(y, "mlp.fc1"))
        see("fc2", hidden)
        return x + self.linear(hidden, "mlp.fc2")


SITES = {
    "qkv": ["self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"],
    "out": ["self_attn.out_proj"],
    "fc1": ["mlp.fc1"],
    "fc2": ["mlp.fc2"],
}


class Statistics:
    def __init__(self, inputs):
        self.hessians = [np.zeros((min(BLOCK, inputs - k),) * 2, np.float32)
                         for k in range(0, inputs, BLOCK)]
        self.sum = np.zeros(inputs, np.float64)
        self.rows = 0

    def add(self, x):
        for k, hessian in enumerate(self.hessians):
            block = x[:, k * BLOCK : (k + 1) * BLOCK]
            hessian += block.T @ block
        self.sum += x.sum(0, dtype=np.float64)
        self.rows += x.shape[0]


def factor(hessian):
    h = hessian.astype(np.float64)
    h[np.diag_indices_from(h)] += max(np.finfo(np.float64).eps, 0.01 * np.mean(np.diag(h)))
    lower = np.linalg.cholesky(h[::-1, ::-1])
    return np.linalg.inv(lower)[::-1, ::-1].astype(np.float32)


def reconstruct(weight, statistics, factors):
    out = np.empty_like(weight)
    for k, (hessian, upper) in enumerate(zip(statistics.hessians, factors)):
        first, end = k * BLOCK, min((k + 1) * BLOCK, weight.shape[1])
        scales = row_scales(weight, first, end)
        w = np.ascontiguousarray(weight[:, first:end].T)  # columns lie together
        result = np.empty_like(w)
        original = w.copy()
        for j in range(end - first):
            result[j] = project(w[j], scales)
            error = (w[j] - result[j]) / max(upper[j, j], np.float32(1.1920929e-7))
            w[j:] -= np.outer(upper[j, j:], error)
        errors = (original - project(original, scales), original - result)
        yield tuple(float(np.sum((hessian @ e) * e)) for e in errors)
        out[:, first:end] = result.T
    yield out


def solve(layer, statistics, factors):
    nearest = reconstructed = 0.0
    for site, names in SITES.items():
        mean = statistics[site].sum / statistics[site].rows
        for name in names:
            weight = layer.p[name + ".weight"]
            *parts, out = reconstruct(weight, statistics[site], factors[site])
            nearest += sum(a for a, _ in parts)
            reconstructed += sum(b for _, b in parts)
            layer.p[name + ".bias"] + (weight - out) @ mean
    return reconstructed / nearest


def timed(work):
    begin = time.perf_counter()
    result = work()
    return time.perf_counter() - begin, result


def main():
    program, folder = sys.argv[1:]
    other = subprocess.Popen([program, "--paced", folder], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, text=True, bufsize=1)

    def answer():
        time.sleep(0.2)  # NumPy's threads spin for a while before they sleep
        other.stdin.write("\n")
        return float(other.stdout.readline())

    config = json.load(open(folder + "/config.json"))
    tensors = load(folder + "/model.safetensors")
    pixels = load(folder + "/images.safetensors")["pixel_values"][:IMAGES]
    layer = Layer(tensors, config)
    patch, grid = config["patch_size"], config["image_size"] // config["patch_size"]
    embed = "vision_model.embeddings."
    streams = []
    for image in pixels:
        side = grid * patch
        cut = image[:, :side, :side].reshape(3, grid, patch, grid, patch)
        rows = np.ascontiguousarray(cut.transpose(1, 3, 0, 2, 4).reshape(grid * grid, -1))
        weight = tensors[embed + "patch_embedding.weight"].reshape(config["hidden_size"], -1)
        streams.append(rows @ weight.T + tensors[embed + "patch_embedding.bias"]
                       + tensors[embed + "position_embedding.weight"])
    inputs = [{} for _ in streams]
    for x, seen in zip(streams, inputs):
        layer.forward(x, lambda site, y, seen=seen: seen.update({site: np.ascontiguousarray(y)}))

    def make_statistics():
        return {site: Statistics(inputs[0][site].shape[1]) for site in SITES}

    def hessians():
        statistics = make_statistics()
        for seen in inputs:
            for site, x in seen.items():
                statistics[site].add(x)
        return statistics

    def forward():
        for x in streams:
            layer.forward(x, lambda site, y: None)

    def whole():
        statistics = make_statistics()
        for x in streams:
            layer.forward(x, lambda site, y: statistics[site].add(y))
        factors = {s: [factor(h) for h in statistics[s].hessians] for s in SITES}
        return solve(layer, statistics, factors)

    times = {"hessian": [], "scales_and_columns": [], "forward": [], "layer": []}
    ratio = 0.0

    def turn(name, work):
        seconds, result = timed(work)
        times[name].append((seconds, answer()))
        return result

    for _ in range(RUNS):
        statistics = turn("hessian", hessians)
        factors = {s: [factor(h) for h in statistics[s].hessians] for s in SITES}
        ratio = turn("scales_and_columns", lambda: solve(layer, statistics, factors))
        turn("forward", forward)
        turn("layer", whole)
    for name, pairs in times.items():
        mine, theirs = (median(column) for column in zip(*pairs))
        print(f"{name:20} NumPy {mine:8.4f} s, tilework {theirs:8.4f} s, "
              f"{median(m / t for m, t in pairs):6.2f} times as fast")
    print(f"{'weighted error':20} NumPy {ratio:8.5f}, tilework {answer():8.5f}")


if __name__ == "__main__":
    main()
