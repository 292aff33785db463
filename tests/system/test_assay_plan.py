# SPDX-License-Identifier: Apache-2.0
"""assay-plan eval: the published planners, checked with the examples of their papers and by brute force."""
import json

import pytest

INFEASIBLE = object()


def ask(run, tmp_path, questions):
    """The answers to questions, one per line."""
    path = tmp_path / "questions.jsonl"
    path.write_text("".join(json.dumps(question) + "\n" for question in questions))
    result = run("assay-plan", "eval", path)
    assert (result.returncode, result.stderr) == (0, "")
    return [json.loads(line) for line in result.stdout.splitlines()]


def rows(*groups):
    return [list(group) for group in groups]


FOUR = [[0, 1], [2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12, 13]]
THREE = [[0, 1, 2], [3, 4, 5], [6, 7, 8]]

VECTORS = [
    # Exact 1F1B.
    ({"op": "pipe_1f1b", "F": [1, 1, 1, 1], "B": [2, 2, 2, 2], "m": 8}, {"time": 33}),
    ({"op": "pipe_1f1b", "F": [1, 1.6, 1, 1], "B": [2, 3.2, 2, 2], "m": 8}, {"time": 44.2}),
    ({"op": "pipe_1f1b", "F": [1, 1, 1, 1.5], "B": [2, 2, 2, 3], "m": 8}, {"time": 45}),
    ({"op": "pipe_1f1b", "F": [1, 1, 1, 1], "B": [2, 2, 2, 2], "m": 2}, {"time": 15}),
    ({"op": "pipe_1f1b", "F": [1, 2], "B": [2, 4], "m": 1}, {"time": 9}),
    ({"op": "pipe_1f1b", "F": [0.04] * 4, "B": [0.08] * 4, "m": 16}, {"time": 2.28}),
    # Oobleck: sizes and instantiations.
    ({"op": "oobleck_sizes", "N": 13, "f": 2, "n0": 2}, {"sizes": list(range(2, 10))}),
    ({"op": "oobleck_sizes", "N": 7, "f": 1, "n0": 3}, {"sizes": [3, 4]}),
    ({"op": "oobleck_sizes", "N": 6, "f": 2, "n0": 2}, {"sizes": [2]}),
    ({"op": "oobleck_sizes", "N": 5, "f": 2, "n0": 2}, INFEASIBLE),
    ({"op": "oobleck_sizes", "N": 30, "f": 3, "n0": 4}, {"sizes": list(range(4, 19))}),
    ({"op": "oobleck_sizes", "N": 16, "f": 1, "n0": 5}, {"sizes": list(range(5, 12))}),
    ({"op": "instantiate", "N": 13, "f": 2, "n0": 2}, {"count": 18, "all": 21}),
    ({"op": "instantiate", "N": 7, "f": 1, "n0": 3}, {"count": 1, "all": 1, "options": [[3, 4]]}),
    ({"op": "instantiate", "N": 6, "f": 2, "n0": 2}, {"count": 1, "all": 1, "options": [[2, 2, 2]]}),
    ({"op": "instantiate", "N": 30, "f": 3, "n0": 4}, {"count": 90, "all": 125}),
    ({"op": "instantiate", "N": 16, "f": 1, "n0": 5}, {"count": 5, "all": 5}),
    *(({"op": "instantiate", "sizes": list(range(2, 10)), "N": left, "f": 2}, {"count": count})
      for left, count in ((12, 15), (11, 9), (7, 1), (6, 1), (5, 0))),
    ({"op": "instantiate", "N": 13, "N'": 7, "f": 2, "n0": 2}, {"options": [[2, 2, 3]]}),
    # Templates.
    ({"op": "template_time", "t": [2, 2, 2]}, {"T": 28, "paper": 28, "code": 26, "exact": 28}),
    ({"op": "template_time", "t": [1, 3, 2]}, {"T": 38, "paper": 38, "code": 35, "exact": 38}),
    ({"op": "template_time", "t": [2, 1, 2]}, {"T": 27, "paper": 27, "code": 25, "exact": 27}),
    ({"op": "template_time", "t": [1, 1, 4]}, {"T": 50, "paper": 50, "code": 46, "exact": 50}),
    ({"op": "best_split", "layers": [1] * 6, "S": 3}, {"split": [2, 2, 2], "T": 28}),
    ({"op": "best_split", "layers": [1, 1, 1, 1, 1, 3], "S": 3}, {"split": [2, 3, 1], "T": 41}),
    ({"op": "best_split", "layers": [2, 1, 1, 1, 1, 1, 1, 4], "S": 4}, {"split": [1, 2, 4, 1], "T": 72}),
    ({"op": "best_split", "layers": [3, 1, 1, 1, 1, 1], "S": 2}, {"split": [2, 4], "T": 36}),
    # The batch.
    ({"op": "distribute", "T": [1, 1, 1.5], "B": 32}, {"minmax": [12, 12, 8], "variance": [12, 12, 8]}),
    ({"op": "distribute", "T": [1, 1.2, 1.7], "B": 40}, {"minmax": [17, 14, 9], "variance": [16, 14, 10], "time": 17}),
    ({"op": "distribute", "T": [2, 1], "B": 5}, {"minmax": [2, 3], "time": 4}),
    ({"op": "distribute", "T": [0.12, 0.12, 0.12, 0.192], "B": 64},
     {"minmax": [18, 18, 17, 11], "variance": [17, 18, 18, 11], "time": 2.16}),
    ({"op": "distribute", "T": [9, 8], "B": 32}, {"minmax": [15, 17], "time": 136}),
    ({"op": "distribute", "T": [2, 1], "B": 6, "S": [3, 1]}, {"minmax": [3, 3], "time": 6}),
    # Hosts lost.
    *(({"op": "reconfigure", "pipelines": FOUR, "lost": lost, "n0": 2}, answer) for lost, answer in (
        ([2], {"pipelines": rows([0, 1], [3, 4], [5, 6, 7, 8], range(9, 14)), "way": "kept"}),
        ([6, 8], {"pipelines": rows([0, 1], [5, 7], [2, 3, 4], range(9, 14))}),
        ([10, 11], {"pipelines": rows([0, 1], [2, 3, 4], [9, 12, 13], [5, 6, 7, 8])}),
        ([1], {"pipelines": rows([0, 13], [2, 3, 4], [5, 6, 7, 8], range(9, 13)), "way": "borrowed"}),
        ([1, 3, 4], {"pipelines": rows([0, 13], [2, 12], [9, 10, 11], [5, 6, 7, 8])}),
        ([2, 4, 6, 7, 8], {"pipelines": rows([0, 1], [3, 13], [5, 12], [9, 10, 11])}),
        (list(range(1, 12)), {"pipelines": rows([0, 12, 13]), "way": "merged"}),
        ([1, 2, 3, 5, 6, 7, 9, 11, 12, 13], {"pipelines": rows([0, 4], [8, 10])}),
        ([1, 2, 3, 5, 6, 7, 9, 10, 11], {"pipelines": rows([0, 4], [8, 12, 13])}),
        ([0, 1], {"pipelines": rows([2, 3, 4], [5, 6, 7, 8], range(9, 14))}),
        (list(range(13)), INFEASIBLE),
        (list(range(1, 14)), INFEASIBLE))),
    *(({"op": "reconfigure", "pipelines": THREE, "lost": lost, "n0": 3}, answer) for lost, answer in (
        ([4], {"pipelines": rows([6, 7, 8], [0, 1, 2, 3, 5])}),
        ([4, 8], {"pipelines": rows([0, 1, 2], [3, 5, 6, 7])}),
        ([0, 3, 6], {"pipelines": rows([1, 2, 4, 5, 7, 8])}))),
    # Layers on stages of different speeds.
    ({"op": "assign_layers", "y": [1, 1.6, 1, 1], "L": 32}, {"o": 9, "l": [9, 5, 9, 9]}),
    ({"op": "assign_layers", "y": [1, 1, 1, 1.5], "L": 36}, {"o": 10, "l": [10, 10, 10, 6]}),
    ({"op": "assign_layers", "y": [1, 3, 1, 1], "L": 32, "cap": 10}, {"o": 10, "l": [9, 3, 10, 10]}),
    ({"op": "assign_layers", "y": [2, 2, 1, 1], "L": 30, "cap": 9}, {"o": 12, "l": [6, 6, 9, 9]}),
    ({"op": "assign_layers", "y": [1, 1.6, 1, 1], "L": 32, "cap": 8}, {"o": 12.8, "l": [8, 8, 8, 8]}),
    ({"op": "assign_layers", "y": [1, 1], "L": 32, "cap": 15}, INFEASIBLE),
    # Memory: (2 l + 4) * 1 + 2 <= 20 at the ends, 2 l + 2 <= 20 between them.
    ({"op": "assign_layers", "y": [1, 1, 1], "L": 20, "C": 20, "k": 2, "emb": 4, "extra": 2}, {"l": [6, 7, 7], "o": 7}),
    ({"op": "assign_layers", "y": [1, 2, 1], "L": 23, "C": 20, "k": 2, "emb": 4, "extra": 2}, {"l": [7, 9, 7], "o": 18}),
    # And twice as much of all but the extra: 4 (l + 2) + 2 <= 20 at the ends.
    ({"op": "assign_layers", "y": [1, 1, 1], "L": 8, "C": 20, "k": 2, "emb": 4, "extra": 2, "hetero": 2}, {"l": [2, 4, 2]}),
    ({"op": "assign_layers", "y": [1, 1, 1], "L": 9, "C": 20, "k": 2, "emb": 4, "extra": 2, "hetero": 2}, INFEASIBLE),
    # Groups by length.
    ({"op": "hotspa_group", "lens": [8, 4], "bounds": [8, 4]}, INFEASIBLE),
    ({"op": "hotspa_group", "lens": [8, 5], "bounds": [8, 4]}, {"groups": [[8, 5]]}),
    ({"op": "hotspa_group", "lens": [30000, 16384, 16385, 9000, 5000, 4096, 4000, 3000, 1000, 900, 200, 64],
      "bounds": [32768, 16384, 4096, 0]},
     {"groups": [[30000, 16385], [16384, 9000, 5000], [4096, 4000, 3000, 1000, 900, 200, 64]],
      "packed": [[[30000], [16385]], [[16384], [9000, 5000]], [[4096], [4000, 64], [3000, 1000], [900, 200]]]}),
    ({"op": "hotspa_order", "cost": [[0, 3, 9], [2, 0, 4], [1, 7, 0]], "first": 0}, {"order": [0, 1, 2, 0], "total": 8}),
]

# Schedules: two chunks per stage and separate weight gradients, worked out by hand in tests/unit/test_pipe_schedule.c.
VECTORS += [
    ({"op": "schedule", "F": [1, 2], "B": [2, 4], "m": 1}, {"time": 9, "idle": [6, 3]}),
    ({"op": "schedule", "F": [1, 2], "B": [2, 4], "m": 1, "transfer": [0.5]}, {"time": 10}),
    ({"op": "schedule", "kind": "interleaved", "v": 2, "F": [1] * 4, "B": [2] * 4, "m": 2}, {"time": 15}),
    ({"op": "schedule", "kind": "interleaved", "v": 2, "F": [1] * 4, "B": [2] * 4, "m": 3}, INFEASIBLE),
    ({"op": "schedule", "kind": "zb-h1", "F": [1, 1], "B": [2, 2], "W": [1, 1], "m": 2}, {"time": 10, "idle": [2, 2]}),
    ({"op": "schedule", "F": [1] * 3, "B": [2] * 3, "m": 9, "activation": [5] * 3}, {"peak": [15, 10, 5]}),
    ({"op": "schedule", "F": [1] * 3, "B": [2] * 3, "m": 9, "activation": [5] * 3, "room": [14, 14, 14]}, INFEASIBLE),
    ({"op": "standby", "N": 1000, "p": 0.002}, {"s": 6, "certainty": 0.9955142212404086}),
    ({"op": "standby", "N": 1000, "rate": 0.0001, "repair": 20}, {"s": 6}),
    ({"op": "standby", "N": 100, "p": 0.3, "certainty": 0.5}, {"s": 30}),
    ({"op": "rearrange", "F": [0.005] * 32, "B": [0.01] * 32, "split": [8] * 4, "m": 16, "step": 3.428,
      "y": [[1] * 4, [1, 1, 1.6, 1], [1] * 4, [1] * 4]}, {"now": 3.428, "bound": 0.48 * 64 / 15.625}),
]

MOVES = {"moves": [{"rows": [2, 3], "from": 0, "to": 1, "link": "intra"}, {"rows": [4, 5], "from": 3, "to": 2, "link": "intra"}],
         "V_intra": [2, 0, 0, 2], "V_inter": [0, 0, 0, 0], "time": 1}
VECTORS += [
    ({"op": "hotspa_switch", "source": source, "target": target, "rows": 8, "nodes": [[0, 1], [2, 3]], "bw_intra": 2,
      "bw_inter": 1}, MOVES)
    for source, target in (({"dp": 2, "tp": 2}, {"tp": 4}),
                           ([[0, 3], [4, 7], [0, 3], [4, 7]], [[0, 1], [2, 3], [4, 5], [6, 7]]))]


def holds(answer, wanted):
    if wanted is INFEASIBLE:
        return answer.get("feasible") is False and answer["why"]
    return all(answer[key] == (pytest.approx(value, rel=1e-12) if isinstance(value, (int, float)) else value)
               for key, value in wanted.items())


def test_the_examples_of_the_papers_hold(run, tmp_path):
    answers = ask(run, tmp_path, [question for question, _ in VECTORS])
    wrong = [(question, answer) for (question, wanted), answer in zip(VECTORS, answers) if not holds(answer, wanted)]
    assert len(answers) == len(VECTORS)
    assert wrong == []


def test_what_cannot_be_had_says_by_how_much(run, tmp_path):
    answers = ask(run, tmp_path, [{"op": "oobleck_sizes", "N": 5, "f": 2, "n0": 2, "id": "five"},
                                  {"op": "assign_layers", "y": [1, 1], "L": 32, "cap": 15},
                                  {"op": "best_split", "layers": [1, 1], "S": 3}])
    assert answers == [
        {"id": "five", "feasible": False, "why": "5 hosts are 1 fewer than (f + 1) * n0 = 6"},
        {"feasible": False, "why": "the memory of 2 stages holds 30 layers, 2 fewer than 32"},
        {"feasible": False, "why": "2 layers for 3 stages: each needs at least one"}]


BAD = [
    ('{"op": "schedule", "F": [1], "B": [2], "m": 1, "kind": "gpipe"}', "kind: 'gpipe' is not one of 1f1b, interleaved, zb-h1"),
    ('{"op": "schedule", "F": [1], "B": [2], "W": [1], "m": 1}', "W: only zb-h1 has separate times for the backward of the weights"),
    ('{"op": "schedule", "F": [1, 1], "B": [2, 2], "m": 1, "transfer": [1, 1]}', "transfer: 2 values: expected 1"),
    ('{"op": "standby", "N": 10, "p": 2}', "p: 2 is outside 0 to 1"),
    ('{"op": "rearrange", "F": [1], "B": [2], "split": [2], "m": 1, "y": [[1]]}', "rearrange: the stages have 2 layers, but the model has 1"),
    ('{"op": "rearrange", "F": [1], "B": [2], "split": [1], "m": 1, "y": [[1, 1]]}', "y[0]: 2 values: expected at most 1"),
    ('{"op": "pipe_1f1b", "F": [1], "B": [2]}', "m: expected a number, not nothing"),
    ('{"op": "pipe_1f1b", "F": [1], "B": [2, 3], "m": 1}', "B: 2 values, but F has 1"),
    ('{"op": "pipe_1f1b", "F": [1, "x"], "B": [2, 3], "m": 1}', "F[1]: expected a number, not a string"),
    ('{"op": "pipe_1f1b", "F": [1], "B": [2], "m": 1.5}', "m: 1.5 is not a whole number"),
    ('{"op": "pipe_1f1b", "F": [-1], "B": [2], "m": 1}', "F[0]: -1 is outside 1e-09 to 1000000000"),
    ('{"op": "oobleck"}', "op: 'oobleck' is not one of assign_layers, best_split"),
    ('{"F": [1]}', "op: expected one of assign_layers"),
    ("[1]", "expected an object, not a list"),
    ("nonsense", ""),
    ('{"op": "reconfigure", "pipelines": [[0, 1], [1]], "lost": [], "n0": 1}', "reconfigure: host 1 is in two places"),
    ('{"op": "hotspa_group", "lens": [3], "bounds": [4, 8]}', "hotspa_group: bounds[1]: 8 is not smaller than the one before"),
    ('{"op": "hotspa_switch", "source": {"tp": 3}, "target": {"tp": 3}, "rows": 8, "nodes": [[0, 1, 2]]}',
     "source: tp 3 does not divide rows, 8"),
    ('{"op": "hotspa_switch", "source": {"tp": 2}, "target": {"tp": 2}, "rows": 8, "nodes": [[0]]}',
     "nodes: they have 1 devices of 2"),
    ('{"op": "hotspa_order", "cost": [[0, 1], [1]]}', "cost[1]: a row of 1 values in a square of 2"),
    ('{"op": "instantiate", "sizes": [3, 2], "N": 5, "f": 0}', "sizes[1]: 2: sizes must ascend"),
]


def test_a_wrong_line_is_named_and_the_others_are_answered(run, tmp_path):
    good = '{"op": "pipe_1f1b", "F": [1], "B": [2], "m": 5}'
    path = tmp_path / "questions.jsonl"
    path.write_text("\n".join([good] + [line for line, _ in BAD] + ["", good]))
    result = run("assay-plan", "eval", path)
    answers = [json.loads(line) for line in result.stdout.splitlines()]
    assert result.returncode == 2
    assert answers[0] == answers[-1] == {"time": 15}
    assert len(answers) == len(BAD) + 2
    for number, ((_, what), answer) in enumerate(zip(BAD, answers[1:]), 2):
        assert answer["error"].startswith(f"{path}:{number}: {what}")
    assert result.stderr == f"{answers[1]['error']} (and {len(BAD) - 1} more lines)\n"


def test_words_stand_for_symbols_and_strangers_are_named(run, tmp_path):
    answers = ask(run, tmp_path, [
        {"op": "pipe_1f1b", "forward": [1], "backward": [2], "microbatches": 5, "note": "from a page", "F'": 1},
        {"op": "distribute", "times": [2, 1], "batch": 5}])
    assert answers[0] == {"time": 15, "ignored": ["note", "F'"]}
    assert answers[1]["minmax"] == [2, 3] and "ignored" not in answers[1]


def test_standard_input_is_a_file_too(run, tmp_path):
    path = tmp_path / "questions"
    path.write_text('{"op": "pipe_1f1b", "F": [1], "B": [2], "m": 5}')  # no newline at its end
    with open(path) as f:
        assert run("assay-plan", "eval", "-", stdin=f).stdout == '{"time":15.0}\n'


def test_the_worked_example_is_rearranged(run, tmp_path):
    answer, = ask(run, tmp_path, [next(question for question, _ in VECTORS if question["op"] == "rearrange")])
    plans = {plan["way"]: plan for plan in answer["plans"]}
    assert {way: round(plan["time"], 9) for way, plan in plans.items()} == {"microbatches": 2.58, "layers": 2.61, "both": 2.46, "together": 2.46}
    assert plans["microbatches"]["microbatches"] == [18, 10, 18, 18]
    assert plans["layers"]["layers"] == [[8] * 4, [9, 9, 5, 9], [8] * 4, [8] * 4]
    assert plans["both"]["microbatches"] == [17, 13, 17, 17]
    assert plans["together"]["hosts"][0][2] == 6


def test_usage_is_told(run):
    for args, what in (((), "which command?"), (("eval",), "which questions?"), (("guess", "x"), "unknown command 'guess'")):
        result = run("assay-plan", *args)
        assert result.returncode == 2
        assert what in result.stderr
    assert run("assay-plan", "eval", "/nowhere/at-all").returncode == 2
