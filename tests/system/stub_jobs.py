# SPDX-License-Identifier: Apache-2.0
"""Jobs in the controller's API, for a stub."""


def between(value, low, high):
    return {"value": value, "low": low, "high": high}


def job(name="research/llm-7", id="j12", **more):
    """An item of GET /v1/jobs: one host 10 % slow."""
    return {"job": name, "id": id, "hosts": 16, "run": 1, "step_s": 8.99, "slowdown": 1.09, "slowdown_low": 1.07, "slowdown_high": 1.11,
            "cause": "compute", "suspect": "gpu-17", "state": "suspected", "windows": 2, "age_s": 40, **more}


def own_doing(**more):
    """A job that slows itself."""
    return job(**{"name": "research/moe-2", "id": "j13", "hosts": 8, "step_s": 9.07, "slowdown": 1.54, "slowdown_low": 1.5,
                  "slowdown_high": 1.58, "cause": "seqlen", "suspect": None, "state": "owner informed", **more})


def suspect(**more):
    return {"hosts": ["gpu-17"], "dp": 3, "stage": 1, "ranks": [56, 63], "class": "compute", "share": between(0.94, 0.88, 0.99),
            "alone": between(0.97, 0.9, 1.0), "gain": between(0.08, 0.06, 0.09), "identifiable": True, "counts": True, "hits": 2, "of": 2, **more}


def heat(rows=4, columns=2, slow=((3, 1, 1.09),), row="dp", column="stage"):
    values = [[1.0 for _ in range(columns)] for _ in range(rows)]
    for dp, stage, value in slow:
        values[dp][stage] = value
    return {"rows": rows, "columns": columns, "row": row, "column": column, "values": values}


def window(id=7, **more):
    return {"id": id, "run": 1, "state": "analysed", "reason": None, "digest": "ab" * 32, "steps": 64, "from": "2026-11-26T11:50:00Z",
            "until": "2026-11-26T12:00:00Z", "received": "2026-11-26T12:00:10Z", "coarse": False, "slowdown": 1.09, "slowdown_low": 1.07,
            "slowdown_high": 1.11, "cause": "compute", "suspect": "gpu-17", **more}


def detail(**more):
    """The response of GET /v1/jobs/j12."""
    return {**job(), "names": ["research/llm-7"], "created": "2026-11-26T11:00:00Z", "last": "2026-11-26T12:00:10Z",
            "windows": {"analysed": 2, "rejected": 1, "failed": 0, "queued": 0}, "suspects": [suspect()],
            "decision": {"action": "probe", "reason": "gpu-17 would be tested with gemm, gemm-load, memory"}, "heat": heat(),
            "sentence": "One worker is slow at computing: dp 3 stage 1 (ranks 56-63 on gpu-17).", "latest": [window(8), window(7)], **more}


def serve(stub, *jobs, **details):
    """Serves the list, the look-up by name, and each of `details` ("j12") with its windows."""
    def listed(query):
        name = query.get("name")
        return 200, {"items": [j for j in jobs if name in (None, j.get("job"))], "next": None}

    stub.answers["/v1/jobs"] = listed
    for id, document in details.items():
        stub.answers[f"/v1/jobs/{id}"] = (200, document)
        stub.list(f"/v1/jobs/{id}/windows", document["latest"])
