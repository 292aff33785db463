# SPDX-License-Identifier: Apache-2.0
"""Our own prototypes and constants of NVIDIA's libraries: a change of any of them must not compile against their headers."""
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

# Our own limits, which are in no header; and values that are compared at run time.
OURS = {"CUDA_DRIVER_MIN", "LT_MAJOR_MIN", "NCCL_CONFIG_MAGIC"}

# The header declares these with (), which in C leaves the parameters open.
NO_PROTOTYPE = {"ncclGroupStart: one more", "ncclGroupEnd: one more"}

# Changes in the left header are detected by the tests on the right.
SEEN_BY = [
    ("probes/accel/cuda_abi.h", "test_cuda_abi", r"CUDA_DRIVER_FUNCTIONS|CUDA_LT_FUNCTIONS", ("CUDA_", "LT_")),
    ("probes/accel/cuda_abi.h", "test_nvml_abi", r"CUDA_NVML_FUNCTIONS", ("NVML_",)),
    ("probes/accel/nvml_abi.h", "test_nvml_abi", r"NVML_HEALTH_FUNCTIONS", ("NVML_",)),
    ("probes/coll/nccl_abi.h", "test_nccl_abi", r"NCCL_FUNCTIONS", ("NCCL_",)),
]


def parts(text):
    """Splits the parameters of "(int a, void (*b)(int))"."""
    depth, out, part = 0, [], ""
    for c in text:
        depth += {"(": 1, ")": -1}.get(c, 0)
        if c == "," and depth == 0:
            out.append(part)
            part = ""
        else:
            part += c
    return [*out, part]


def prototypes(text, lists):
    """(name, begin and end of the parameters) of each row of these lists."""
    found = []
    for start in re.finditer(rf"#define ({lists})\(X\)", text):
        end = re.compile(r"[^\\]\n").search(text, start.end()).start() + 1
        for row in re.finditer(r"X\([01],\s*([\w *]+?),\s*\w+,\s*(\w+),[\s\\]*\(", text[start.end():end]):
            at = start.end() + row.end()
            depth, close = 1, at
            while depth:
                depth += {"(": 1, ")": -1}.get(text[close], 0)
                close += 1
            found.append((row[2], at, close - 1, start.end() + row.start(1), start.end() + row.end(1)))
    return found


def mutants(text, lists, prefixes):
    """(what was changed, the changed text)."""
    for name, begin, end, result, result_end in prototypes(text, lists):
        yield f"{name}: result", text[:result] + "double" + text[result_end:]
        parameters = text[begin:end]
        each = [] if parameters.strip() == "void" else parts(parameters)
        for i in range(len(each)):
            other = ",".join([*each[:i], " double changed", *each[i + 1:]])
            yield f"{name}: parameter {i + 1}", text[:begin] + other + text[end:]
        more = ",".join([*each, " double added"]) if each else "double added"
        yield f"{name}: one more", text[:begin] + more + text[end:]
    for number in re.finditer(r"^\s*(?:enum \{ )?(\w+) = (0x[0-9a-f]+|\d+)(?=[, ])|, (\w+) = (\d+)(?=[, ])|^#define (\w+) (0x[0-9a-f]+)U$",
                              text, re.MULTILINE):
        group = next(i for i in (1, 3, 5) if number[i])
        name = number[group]
        if name.startswith(prefixes) and name not in OURS:
            begin, end = number.span(group + 1)
            yield name, f"{text[:begin]}{int(text[begin:end], 0) + 1}{text[end:]}"


@pytest.fixture
def flags(build):
    """Compiler flags of the tests of prototypes; skips if there are no headers."""

    def find(test):
        makefile = (build / "Makefile").read_text()
        cuda = re.search(r"^CUDA_CPPFLAGS = -isystem (\S+)$", makefile, re.MULTILINE)
        if not cuda or not re.search(rf"^am__append_\d+ = .*tests/unit/{test}\b", makefile, re.MULTILINE):
            pytest.skip(f"no headers for {test} on this machine")
        return ["cc", "-fsyntax-only", "-std=gnu11", "-D_GNU_SOURCE", "-isystem", cuda[1]]

    return find


@pytest.mark.once
@pytest.mark.parametrize("header, test, lists, prefixes", SEEN_BY)
def test_what_is_changed_does_not_compile(top, tmp_path, flags, full, header, test, lists, prefixes):
    command = flags(test)
    text = (top / header).read_text()
    changed = list(mutants(text, lists, prefixes))
    assert len(changed) > 40 and len({name for name, _ in changed}) == len(changed), len(changed)

    def compiles(i, what):
        copy = tmp_path / str(i) / header
        copy.parent.mkdir(parents=True)
        copy.write_text(what)
        done = subprocess.run([*command, "-I", str(tmp_path / str(i)), "-I", str(top), str(top / f"tests/unit/{test}.c")],
                              capture_output=True, text=True, check=False)
        return done.returncode == 0, done.stderr

    assert compiles("same", text) == (True, "")
    chosen = changed if full else changed[:: len(changed) // 8]
    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda item: compiles(item[0], item[1][1]), enumerate(chosen)))
    assert {name for (name, _), (fine, _) in zip(chosen, results) if fine} <= NO_PROTOTYPE
    # It must fail in the comparison, not because of an unreadable header.
    for (name, _), (fine, words) in zip(chosen, results):
        assert fine or "static assertion failed" in words or "static_assert failed" in words or "size of array" in words, (name, words)
