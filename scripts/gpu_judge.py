# SPDX-License-Identifier: Apache-2.0
"""Evaluates the results of scripts/on-gpu: for each question a figure, its bound, and whether it holds. Pure except judge()."""
import json
import os
import re
import statistics
import sys
import xml.etree.ElementTree

from gpu_steps import BURN_S, DATA, DTYPES, GEMM_S, HANG_S, MEMORY_S, PAIRS

FIRST_TOUCH_S, WARM_S = 30, 2  # timeouts of gpu-state
QUICK_S, GRACE_S = 45, 1
SAME = 0.03  # maximum difference between a probe and its reference
KEPT = 0.95  # minimum rate of the last fifth of a burn relative to the first: good ones lose 1 to 3 %
PER_CLOCK = 0.04  # NVML's clock is a filtered value
ABORT_S, GONE_S = 5, 2
WINDOWS = 8
WIDTH = 200  # of a figure in the table
# Questions without a bound: a missing answer is not a failure.
FIGURES = ("refused", "set-up", "shortest", "start", "launch", "pages")
# If one of these fails, the results say nothing about the suite.
YARDSTICKS = ("nvidia-smi", "ref_gemm", "ref_copy")


class Unknown(Exception):
    """The reason why a question has no answer."""


class Failed(Exception):
    """Something that must work failed."""


class Results:
    """The contents of results.jsonl, without a truncated last line."""

    def __init__(self, lines):
        self.runs, self.steps = [], {}
        for line in lines:
            try:
                record = json.loads(line)
            except ValueError:
                continue
            if record.get("kind") == "run":
                self.runs.append(record)
            elif record.get("kind") == "step":
                self.steps[record["step"]] = record
        self.by_name = {(r["step"], r["label"]): r for r in self.runs}

    def run(self, step, label):
        if (step, label) in self.by_name:
            return self.by_name[step, label]
        why = self.steps[step]["error"] or "it was not tried" if step in self.steps else "the run ended before"
        raise Unknown("%s, %s: %s" % (step, label, why))

    def done(self, step, label, status=0):
        r = self.run(step, label)
        name = os.path.basename(r["argv"][0])
        if r["status"] is None and not r["timed_out"]:
            raise Unknown("%s, %s: %s could not be run: %s" % (step, label, name, r["err"]))
        if r["timed_out"] or r["status"] != status:
            words = (r["err"].strip().splitlines() or ["it printed no reason"])[-1]
            raise (Unknown if name in YARDSTICKS else Failed)("%s, %s: %s: %s" % (step, label, "out of time" if r["timed_out"] else "exit status %s" % r["status"], words))
        return r

    def lines(self, step, label):
        return objects(self.done(step, label)["out"])

    def sample(self, step, label, check):
        for s in self.lines(step, label):
            if s.get("check") == check:
                if s["params"].get("engine", "cuda") != "cuda":
                    raise Failed("%s, %s: %s is of the %s engine" % (step, label, check, s["params"]["engine"]))
                return s
        raise Failed("%s, %s: no %s" % (step, label, check))

    def value(self, step, label, check):
        s = self.sample(step, label, check)
        if s["state"] != "measured" or s["value"] is None:
            raise Failed("%s, %s: %s %s: %s" % (step, label, check, s["state"], s.get("note", "")))
        return s["value"]


def objects(text):
    found = []
    for line in text.splitlines():
        try:
            found.append(json.loads(line))
        except ValueError:
            continue  # a truncated last line
    return found


def within(ratio, share):
    return abs(ratio - 1) <= share


def spread(share):
    return "%.2f to %.2f" % (1 - share, 1 + share)


# --- one function per question: (figure, bound, does it hold); None for a figure without a bound


def first_touch(r):
    rows = [s for s in r.lines("cold", "nvml") if s.get("round") == 0 and s["call"] != "all"]
    worst = max(rows, key=lambda s: s["seconds"])
    return "%.2f s in %s" % (worst["seconds"], worst["call"]), "<= %d s" % FIRST_TOUCH_S, worst["seconds"] <= FIRST_TOUCH_S


def warm(r):
    rows = [s for s in r.lines("cold", "nvml") if s.get("round", 0) >= 2 and s["call"] not in ("all", "init", "by_index")]
    worst = max(rows, key=lambda s: s["seconds"])
    return "%.3f s in %s" % (worst["seconds"], worst["call"]), "<= %d s" % WARM_S, worst["seconds"] <= WARM_S


def refused(r):
    rows = [s for s in r.lines("cold", "nvml") if s.get("round") == 0 and s.get("result")]
    return ", ".join("%s %d" % (s["call"], s["result"]) for s in rows) or "none", "-", None


def state_clean(r):
    bad = [s["check"] for label in ("first", "second") for s in r.lines("state", label) if s["ok"] is False]
    return ", ".join(bad) or "nothing told", "nothing told", not bad


# (our check, where nvidia-smi has it, how to parse that)
SMI = [
    ("gpu.pcie_width", "pci/pci_gpu_link_info/link_widths/current_link_width", lambda text: float(text.rstrip("x"))),
    ("gpu.ecc_mode", "ecc_mode/current_ecc", lambda text: 1.0 if text == "Enabled" else 0.0),
    ("gpu.power_limit", "gpu_power_readings/current_power_limit", lambda text: float(text.split()[0])),
]


# The same for text settings, in gpu-state's words; None: not reported.
SMI_TEXTS = [
    ("gpu.vbios", "vbios_version", lambda text: text),
    ("gpu.inforom", "inforom_version/img_version", lambda text: text),
    ("gpu.gsp_firmware", "gsp_firmware_version", lambda text: "off" if text == "N/A" else text),
    ("gpu.bar1", "bar1_memory_usage/total", lambda text: text),
    ("gpu.compute_mode", "compute_mode", lambda text: text.lower().replace("_", " ")),
    ("gpu.persistence", "persistence_mode", lambda text: "on" if text == "Enabled" else "off"),
]


def texts_as_smi(gpu, ours):
    """(number of equal ones, those that differ)."""
    same, differ = 0, []
    for check, path, read in SMI_TEXTS:
        text, sample = gpu.findtext(path), ours.get(check)
        if not text or not sample or "setting" not in sample.get("params", {}):
            continue
        theirs, mine = read(text.strip()), sample["params"]["setting"]
        same += theirs == mine
        differ += [] if theirs == mine else ["%s %s, nvidia-smi %s" % (check, mine, theirs)]
    return same, differ


def as_smi(r):
    gpu = xml.etree.ElementTree.fromstring(r.done("state", "smi")["out"]).find("gpu")
    ours = {s["check"]: s for s in r.lines("state", "second")}
    same, differ = texts_as_smi(gpu, ours)
    uuid = gpu.findtext("uuid", "?").strip()
    if not any(s["subject"] == "gpu:" + uuid for s in ours.values()):
        differ.append("uuid " + uuid)
    for check, path, read in SMI:
        text = gpu.findtext(path)
        try:
            theirs = read(text.strip()) if text else None
        except ValueError:
            continue  # N/A
        if theirs is None or check not in ours or ours[check]["value"] is None:
            continue
        same += 1
        if abs(theirs - ours[check]["value"]) > 0.5:
            differ.append("%s %g, nvidia-smi %g" % (check, ours[check]["value"], theirs))
    return "; ".join(differ) or "%d values and the UUID are the same" % same, "the same", not differ


def verdict_of(r, step):
    run = r.run(step, step)
    found = objects(run["out"])
    if run["timed_out"] or not found:
        raise Failed("%s: no verdict: %s" % (step, run["err"].strip()[-200:]))
    return run, found[0]


def clean_profile(r, step):
    """A profile on a healthy host: no finding about it, and every GPU probe measured."""
    run, value = verdict_of(r, step)
    bad = ["%s %s" % (i["check"], i["verdict"]) for i in value["verdict"]["items"] if i["verdict"] in ("fail", "warn")]
    bad += ["%s %s" % (s["check"], s["state"]) for s in value["report"]["samples"]
            if s["check"].startswith(("gpu.", "gemm.", "memory.")) and s["state"] != "measured"]
    bad += ["%s: %s" % (p["probe"], p["code"]) for p in value["report"]["problems"]
            if p["probe"] in ("gpu-state", "gemm", "memory") and p["code"] != "not-applicable"]
    bad += [] if any(s["check"] == "gpu.nvml" for s in value["report"]["samples"]) else ["no GPU was seen"]
    return run, bad


def passive_clean(r):
    _, bad = clean_profile(r, "passive")
    return ", ".join(bad) or "no finding", "no finding", not bad


def quick_clean(r):
    run, bad = clean_profile(r, "quick")
    gemm = [s for s in verdict_of(r, "quick")[1]["report"]["samples"] if s["check"] == "gemm.rate"]
    bad += [] if gemm else ["no gemm.rate"]
    return ", ".join(bad) or "no finding, %.1f s" % run["seconds"], "no finding, <= %d s" % QUICK_S, not bad and run["seconds"] <= QUICK_S


def engine(r):
    found = next((s["params"]["engine"] for s in r.lines("gemm", "auto") if s.get("check") == "gemm.rate"), "nothing")
    return found, "cuda", found == "cuda"


def finds_lt(r):
    run = r.run("gemm", "auto")
    if "libcublasLt" in run["err"]:
        return run["err"].strip()[-WIDTH:], "found by the probe", False
    if run["status"]:
        raise Unknown("gemm, auto: exit status %s for another reason" % run["status"])
    return r.sample("gemm", "auto", "gemm.rate")["params"]["version"], "found by the probe", True


def windows(r):
    s = r.sample("gemm", "auto", "gemm.rate")
    n = len(s.get("w", []))
    return "%d windows" % n, ">= %d" % WINDOWS, s["state"] == "measured" and n >= WINDOWS


def set_up(r):
    run, s = r.done("gemm", "auto"), r.sample("gemm", "auto", "gemm.rate")
    return "%.1f s to the first window of %d s" % (s["start"] - run["start"], GEMM_S), "-", None


def shortest(r):
    states = {s["check"]: s["state"] for s in objects(r.run("gemm", "3s")["out"])}
    return "%s in 3 s" % states.get("gemm.rate", "absent"), "-", None


def ends(r):
    run = r.done("gemm", "auto")
    after = run["seconds"] - (run["last_out_s"] or 0)
    return "%.1f s, %.1f s behind the last sample" % (run["seconds"], after), "<= %d s" % (GEMM_S + GRACE_S), run["seconds"] <= GEMM_S + GRACE_S


def correct(r):
    wrong = {"bf16": r.value("gemm", "auto", "gemm.correct"), **{d: r.value("dtypes", d, "gemm.correct") for d in DTYPES}}
    bad = ["%s %g" % item for item in wrong.items() if item[1]]
    return ", ".join(bad) or "0 in " + " ".join(wrong), "0 wrong elements", not bad


def one_algorithm(r):
    found = {r.sample("against", "probe%d" % i, "gemm.rate")["params"]["algorithm"] for i in range(PAIRS)}
    return "; ".join(sorted(found)), "one", len(found) == 1


def plain_rate(r, step, label):
    for line in r.lines(step, label):
        if "rate" in line:
            return line["rate"]
    raise Failed("%s, %s: no rate" % (step, label))


def gemm_ratio(r):
    ratios = [r.value("against", "probe%d" % i, "gemm.rate") / plain_rate(r, "against", "plain%d" % i) for i in range(PAIRS)]
    ratio = statistics.median(ratios)
    rate = statistics.median(plain_rate(r, "against", "plain%d" % i) for i in range(PAIRS))
    return "%.3f (%s) of %.4g FLOP/s" % (ratio, " ".join("%.3f" % x for x in ratios), rate), spread(SAME), within(ratio, SAME)


def same_algorithm(r):
    theirs = next(line for line in r.lines("against", "plain0") if "algorithm" in line)
    params = r.sample("against", "probe0", "gemm.rate")["params"]
    ours = params["algorithm"].split()
    differ = [name for name, value in theirs["algorithm"].items() if name in ours and ours[ours.index(name) + 1] != str(value)]
    if "cublaslt %d," % theirs["version"] not in params["version"]:
        raise Unknown("the plain loop has cuBLASLt %s, the probe %s" % (theirs["version"], params["version"]))
    return ", ".join(differ) or "the same", "the same", not differ


def steady(r):
    w = r.sample("gemm", "auto", "gemm.rate").get("w", [])
    if len(w) < WINDOWS:
        raise Failed("%d windows" % len(w))
    quarter = len(w) // 4
    ratio = statistics.median(w[-quarter:]) / statistics.median(w[:quarter])
    return "%.3f of the first windows in the last" % ratio, spread(SAME), within(ratio, SAME)


def per_clock(r):
    ours = r.value("gemm", "auto", "gemm.rate") / mhz_of(r.sample("gemm", "auto", "gemm.rate").get("note", ""))
    lines = [s for s in r.lines("against", "plain0") if s.get("mhz") and s["at"] > 1]
    if not lines:
        raise Unknown("NVML told no clock")
    ratio = ours / statistics.median(s["flops"] / s["mhz"] for s in lines)
    return "%.3f of the plain loop's" % ratio, spread(PER_CLOCK), within(ratio, PER_CLOCK)


def mhz_of(note):
    words = note.split()
    if "MHz" not in words:
        raise Failed("no clock in the note of gemm.rate: '%s'" % note)
    return float(words[words.index("MHz") - 1])


def warms_up(r):
    rows = [s for s in r.lines("sustained", "uniform") if "flops" in s]
    early = [s["flops"] for s in rows if 1 <= s["at"] <= 5]
    late = [s["flops"] for s in rows if s["at"] >= 20]
    if not early or not late:
        raise Unknown("the plain loop was too short")
    ratio = statistics.median(late) / statistics.median(early)
    return "%.3f after 20 s of what it was from 1 to 5 s, at %d C" % (ratio, rows[-1]["celsius"]), spread(SAME), within(ratio, SAME)


def data_kinds(r):
    uniform = plain_rate(r, "sustained", "uniform")
    ratios = {data: plain_rate(r, "sustained", data) / uniform for data in DATA}
    words = ", ".join("%s %.3f" % item for item in ratios.items()) + " of uniform"
    return words, "normal " + spread(SAME), within(ratios["normal"], SAME)


def start_cost(r):
    parts = {s["part"]: s["seconds"] for s in r.lines("against", "plain0") if "part" in s}
    each = sum(parts.get(name, 0) for name in ("context", "cublasLt", "data", "first product"))
    words = "cuInit %.2f, context %.2f, cuBLASLt %.2f, data %.2f, first product %.2f, end %.2f s; eight one by one: %.1f s" % (
        *(parts.get(name, 0) for name in ("cuInit", "context", "cublasLt", "data", "first product", "context gone")),
        parts.get("cuInit", 0) + 8 * each)
    return words, "-", None


def launches(r):
    last = next((s for s in r.lines("against", "plain0") if "launch_us_p50" in s), None)
    if not last:
        raise Failed("the plain loop did not end")
    return "%.1f us, p99 %.1f us of the host each" % (last["launch_us_p50"], last["launch_us_p99"]), "-", None


BURNS = ("gemm.burn_rate", "gemm.burn_kept", "gemm.burn_hbm_temp", "gemm.burn_gpu_temp", "gemm.burn_clock", "gemm.burn_power")


def drawn(s):
    """The values over time, without those of first and last only."""
    return s["check"] == "gemm.burn_kept" or len(s.get("w", [])) >= WINDOWS


def burn(r):
    """All samples cover the whole burn, and none is bad on a good GPU. NVML may not report the memory temperature."""
    r.sample("burn", "burn", "gemm.burn_rate")  # of a GPU
    found = {s["check"]: s for s in r.lines("burn", "burn") if s.get("check") in BURNS}
    bad = [check for check in BURNS if check not in found or found[check]["state"] != "measured" or not drawn(found[check])]
    bad += ["%s: %s" % (s["check"], s.get("note", "")) for s in found.values() if s["ok"] is False]
    took = r.run("burn", "burn")["seconds"]
    if bad:
        return "; ".join(bad), "measured, no finding", False
    kept, hbm, chip = (found[check]["value"] for check in BURNS[1:4])
    bound = "measured, no finding, >= %.2f kept, <= %d s" % (KEPT, BURN_S + GRACE_S)
    return "%.3f kept, memory %d C, chip %d C, %.1f s" % (kept, hbm, chip, took), bound, took <= BURN_S + GRACE_S and kept >= KEPT


def chain(r):
    s = r.sample("chain", "chain", "gemm.chain")
    return s.get("note", s["state"]), "measured", s["state"] == "measured"


COPIES = (("memory.h2d_bw", "h2d", "alloc"), ("memory.d2h_bw", "d2h", "alloc"), ("memory.device_bw", "device", "device"))


def copy_ratio(r):
    words, worst = [], 1.0
    for check, way, memory in COPIES:
        ratios = []
        for i in range(PAIRS - 1):
            s = r.sample("memory", "probe%d" % i, check)
            ours = r.value("memory", "probe%d" % i, check)
            theirs = [x["rate"] for x in r.lines("memory", "plain%d" % i)
                      if (x["way"], x["memory"], x["size"]) == (way, memory, s["params"]["size"])]
            if not theirs:
                raise Unknown("no plain copy of %s bytes" % s["params"]["size"])
            ratios.append(ours / theirs[0])
        ratio = statistics.median(ratios)
        words.append("%s %.3f" % (way, ratio))
        worst = max(worst, ratio, 2 - ratio, key=lambda x: abs(x - 1))
    return ", ".join(words), spread(SAME), within(worst, SAME)


def pages(r):
    rates = {(x["way"], x["memory"]): x["rate"] for x in r.lines("memory", "plain0") if "rate" in x}
    words = ["%s %s %.3f" % (way, memory, rates[way, memory] / rates[way, "alloc"])
             for way in ("h2d", "d2h") for memory in ("4k", "huge") if (way, memory) in rates]
    if not words:
        raise Failed("no memory could be registered")
    return ", ".join(words) + " of memory that the driver allocates", "-", None


def memory_quick(r):
    state = r.sample("memory", "short", "memory.h2d_bw")["state"]
    return state, "measured in %d s" % MEMORY_S, state == "measured"


def pattern(r):
    s = r.sample("memory", "pattern", "memory.pattern")
    note = s.get("note", s["state"])
    return "%s wrong of %d words: %s" % (s["value"], s.get("n", 0), note), "0, in time", s["value"] == 0 and "the time was over" not in note


def dmabuf(r):
    lines = r.lines("driver", "driver")
    claims = next(x["dmabuf_attribute"] for x in lines if "dmabuf_attribute" in x)
    refused = [x["dmabuf"] for x in lines if "dmabuf" in x and x["result"]]
    aligned = [size for size in refused if size % 4096 == 0]
    words = "the GPU says %s; refused: %s" % ("yes" if claims else "no", " ".join(map(str, refused)) or "none")
    return words, "exported where it says so", not (claims and aligned)


def region(r):
    """A region as in a probe: exported if the GPU supports it, with unchanged contents afterwards."""
    lines = r.lines("driver", "region")
    if not lines:
        raise Failed("no memory was taken")
    ways = sorted({x["way"] for x in lines})
    spoiled = [x["gpu"] for x in lines if not x["kept"]]
    claims = next(x["dmabuf_attribute"] for x in r.lines("driver", "driver") if "dmabuf_attribute" in x)
    words = "%d regions: %s%s" % (len(lines), " ".join(ways), "; changed: " + " ".join(spoiled) if spoiled else "")
    return words, "dmabuf or peermem where it says so", not spoiled and not (claims and "none" in ways)


def pair(r):
    run = r.run("single", "pair")
    if run["status"] == 77:
        return "exit status 77: %s" % run["err"].strip().rpartition(": ")[2], "no RDMA here, or no link blamed", True
    samples = r.lines("single", "pair")
    blamed = [s["subject"] for s in samples if s["ok"] is False]
    return "%d samples, %d blamed" % (len(samples), len(blamed)), "no RDMA here, or no link blamed", bool(samples) and not blamed


def busy(r):
    states = [r.sample("busy", step, check)["state"] for step, check in (("gemm", "gemm.rate"), ("memory", "memory.h2d_bw"))]
    return "gemm %s, memory %s" % tuple(states), "busy", states == ["busy", "busy"]


def busy_run(r):
    s = r.sample("busy", "run", "gemm.rate")
    return s["state"], "measured", s["state"] == "measured"


def hang(r):
    run = r.run("faults", "hang")
    states = {s.get("check"): s["state"] for s in objects(run["out"])}
    fine = states.get("gemm.rate") == "timeout" and run["seconds"] <= HANG_S + GRACE_S + GONE_S and not run["timed_out"]
    return "%s after %.1f s" % (states.get("gemm.rate", "no sample"), run["seconds"]), "timeout, <= %d s" % (HANG_S + GRACE_S + GONE_S), fine


def late_nvml(r):
    return ("%.4g FLOP/s" % r.value("faults", "late", "gemm.rate"), "measured", True)


def stopped(r):
    run = r.run("faults", "stopped")
    if run["killed_at"] is None:
        raise Unknown("it had ended before")
    took = run["seconds"] - run["killed_at"]
    return "gone %.2f s after SIGTERM" % took, "<= %d s" % GONE_S, took <= GONE_S and not run["timed_out"]


def afterwards(r):
    states = [r.sample("faults", label, "gemm.rate")["state"] for label in ("after hang", "after stop")]
    return ", ".join(states), "measured", set(states) == {"measured"}


def single(r):
    runs = [r.run("single", label) for label in ("all-to-all", "overlap")]
    words = "; ".join("exit status %s: %s" % (run["status"], run["err"].strip().rpartition(": ")[2]) for run in runs)
    return words, "77, there is 1", all(run["status"] == 77 and "there is 1" in run["err"] for run in runs)


def nccl(r):
    lines = r.lines("single", "nccl")
    bad = ["%s %d" % (s["part"], s["result"]) for s in lines if s.get("result")]
    bad += ["%d wrong" % s["wrong"] for s in lines if s.get("wrong")]
    abort = [s["seconds"] for s in lines if s.get("part") == "abort"]
    if not abort:
        raise Failed("it did not come to the abort")
    words = "version %s, abort %.2f s" % (lines[0].get("version"), abort[0])
    return ", ".join([words, *bad]), "no error, abort <= %d s" % ABORT_S, not bad and abort[0] <= ABORT_S


def prototypes(r):
    found = {label: run["status"] for (step, label), run in r.by_name.items() if step == "abi"}
    if not found:
        r.run("abi", "cuda")
    bad = [label for label, status in found.items() if status]
    return "%s differ" % " ".join(bad) if bad else " ".join(found) + " compile", "compile", not bad


def memcheck(r):
    run = r.run("sanitizer", "memcheck")
    found = re.search(r"ERROR SUMMARY: (\d+) error", run["out"] + run["err"])
    if not found:
        raise Unknown("sanitizer: it did not come to a summary: exit status %s" % run["status"])
    return "%s errors" % found[1], "0", found[1] == "0"


QUESTIONS = (
    ("touch", "the first touch of a GPU that nobody holds ends while gpu-state waits", first_touch),
    ("warm", "every later call of NVML ends while gpu-state waits", warm),
    ("refused", "calls of NVML that this driver refuses", refused),
    ("state", "gpu-state tells nothing of a healthy GPU", state_clean),
    ("smi", "what gpu-state reads is what nvidia-smi shows, settings too", as_smi),
    ("passive", "the passive profile has no finding on a healthy host", passive_clean),
    ("engine", "gemm measures the GPU without being told", engine),
    ("cublaslt", "gemm finds cuBLASLt by itself", finds_lt),
    ("windows", "the time of quick is enough for all windows", windows),
    ("set-up", "how long gemm sets up", set_up),
    ("shortest", "what gemm does in its shortest budget", shortest),
    ("end", "gemm ends in its budget", ends),
    ("correct", "products of every type are verified as right", correct),
    ("stable", "the algorithm is the same in each run", one_algorithm),
    ("algorithm", "the algorithm is that of a plain loop", same_algorithm),
    ("rate", "gemm.rate against a plain cuBLASLt loop", gemm_ratio),
    ("steady", "windows of one run do not drift", steady),
    ("clock", "gemm.per_clock against a plain loop", per_clock),
    ("start", "what starting costs, and eight GPUs one by one", start_cost),
    ("launch", "what a launch costs the host", launches),
    ("quick", "the quick profile has no finding on a healthy host", quick_clean),
    ("copies", "copies against a plain cudaMemcpy loop", copy_ratio),
    ("pages", "memory pinned in 4 KiB and in huge pages", pages),
    ("copy time", "memory measures copies in the time of quick", memory_quick),
    ("pattern", "the GPU's memory keeps what is written", pattern),
    ("dmabuf", "memory of the GPU is exported as a dmabuf", dmabuf),
    ("region", "what probes take of the GPU's memory can be given to an RNIC", region),
    ("pair", "rnic-pair between memories of GPUs blames no link of one host", pair),
    ("single", "all-to-all and overlap need two GPUs", single),
    ("nccl", "NCCL takes our configuration, and aborts", nccl),
    ("busy", "a GPU at work for another is busy", busy),
    ("busy run", "--busy run measures it all the same", busy_run),
    ("hang", "work that never ends is a timeout, in time", hang),
    ("late NVML", "NVML that answers late costs no rate", late_nvml),
    ("SIGTERM", "a probe stopped in the middle is gone", stopped),
    ("after", "the GPU is measured after each of these", afterwards),
    ("burn", "a short burn is measured over time and names no good GPU", burn),
    ("warm-up", "a plain loop is as fast after 20 s as after 1 s", warms_up),
    ("data", "random data of either kind costs the same power", data_kinds),
    ("chain", "the chain of small work", chain),
    ("headers", "our prototypes compile against the host's headers", prototypes),
    ("memcheck", "compute-sanitizer finds nothing", memcheck),
)


def answer(question, results):
    """(name, words, figure, bound, "holds" | "does not hold" | "unknown" | "figure")"""
    name, words, ask = question
    try:
        figure, bound, holds = ask(results)
    except Unknown as e:
        return name, words, str(e), "", "unknown"
    except Failed as e:
        return name, words, str(e), "", "unknown" if name in FIGURES else "does not hold"
    except (KeyError, IndexError, TypeError, ValueError, StopIteration, ZeroDivisionError,
            xml.etree.ElementTree.ParseError) as e:  # not the output of one of our programs
        return name, words, "the results cannot be read: %s: %s" % (type(e).__name__, e), "", "unknown"
    return name, words, figure, bound, "figure" if holds is None else "holds" if holds else "does not hold"


def read(folder):
    with open(os.path.join(folder, "results.jsonl"), encoding="utf-8", errors="replace") as f:
        return Results(f)


def table(rows):
    lines = []
    for name, words, figure, bound, holds in rows:
        lines.append("%-13s  %-9s  %s" % (holds, name, words))
        lines.append("%-24s   %s%s" % ("", figure[:WIDTH], "   (%s)" % bound if bound and bound != "-" else ""))
    count = {word: sum(row[4] == word for row in rows) for word in ("holds", "does not hold", "unknown")}
    lines.append("%d hold, %d do not hold, %d unknown" % (count["holds"], count["does not hold"], count["unknown"]))
    return "\n".join(lines), count


def judge(folder):
    try:
        results = read(folder)
    except OSError as e:
        print("on-gpu: %s" % e, file=sys.stderr)
        return 2
    text, count = table([answer(question, results) for question in QUESTIONS])
    print(text)
    return 1 if count["does not hold"] else 3 if count["unknown"] else 0
