# SPDX-License-Identifier: Apache-2.0
"""Simulated fleets with a real controller: the sick hosts are named, the others are not."""
import json
import re
import shutil
import sys
from pathlib import Path

import pytest

from fixtures_controller import controller  # noqa: F401

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "fleet"))
import faults  # noqa: E402
import hosts  # noqa: E402
import simulate  # noqa: E402

FORMATS = Path(__file__).resolve().parents[2] / "docs" / "formats.md"
ALL_FAULTS = {"slow-gpu": faults.SlowGpu(3), "slow-host": faults.SlowHost(), "slow-link": faults.SlowLink(hosts.uplink(1)),
              "wrong-data": faults.WrongData(0), "missing-gpu": faults.MissingGpu(7), "contended": faults.Contended(),
              "set-up": faults.SetUp(), "drift": faults.Drift()}


class Fleet:
    """Hosts that have reported `runs` times to their own controller.

    Which reports of the first run find enough peers depends on the order in which the controller processes them, so `runs`
    is one more than an incident needs.
    """

    def __init__(self, c, fleet, runs=4, profiles=("quick",)):
        self.controller = c
        self.agents = simulate.Agents((c.host, c.port), fleet)
        for _ in range(runs):
            for profile in profiles:
                self.run(profile)

    def run(self, profile="quick", some=None):
        assert set(self.agents.run(profile, some=some).values()) == {202}

    def items(self, path):
        return self.controller.get(path).json["items"]

    def incidents(self):
        return self.items("/v1/incidents?state=open&limit=1000")

    def named(self):
        return {i["node"] for i in self.incidents()}

    def restart(self, c):
        """Continues with another controller."""
        self.agents.close()
        self.controller = c
        self.agents = simulate.Agents((c.host, c.port), self.agents.hosts)

    def close(self):
        self.agents.close()
        self.controller.stop()


@pytest.fixture
def fleet(controller, tmp_path):
    """fleet(hosts, ...) starts a controller; the hosts report to it."""
    started = []

    def start(members, **more):
        f = Fleet(controller(db=tmp_path / f"fleet-{len(started)}.db"), members, **more)
        started.append(f)
        return f

    yield start
    for f in started:
        f.agents.close()


# --- the generator ---

def documented(section):
    """Keys in the table of a section of docs/formats.md."""
    text = FORMATS.read_text().partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    return set(re.findall(r"`(\w+)`", " ".join(line.split("|")[1] for line in text.splitlines() if line.startswith("| `"))))


@pytest.mark.parametrize("fault", [None, *ALL_FAULTS])
def test_every_generated_report_is_one(controller, fault):
    c = controller()
    host = hosts.Host("gpu-00", faults=[ALL_FAULTS[fault]] if fault else ())
    keys, sample_keys = documented("report"), documented("sample") | {"v"}
    for profile in hosts.PROFILES:
        report = host.report(profile)
        assert set(report) <= keys
        assert len({(s["check"], s["subject"]) for s in report["samples"]}) == len(report["samples"])
        for s in report["samples"]:
            assert set(s) <= sample_keys
            assert len(s.get("w", [])) in (0, 8) and (s["state"] == "measured") == (s["value"] is not None)
        assert c.post(report).status == 202


def test_the_same_seed_gives_the_same_reports():
    one, same, other = (hosts.Host("gpu-00", seed) for seed in (1, 1, 2))
    for profile in hosts.PROFILES:
        body = one.body(profile, at=1.8e9)
        assert body == same.body(profile, at=1.8e9) != other.body(profile, at=1.8e9)


def test_the_links_are_those_of_such_a_host(run, top):
    result = run("assay", "topology", "--from", top / "tests/fixtures/hgx-8gpu-8nic.xml", "-o", "json")
    if result.returncode == 1 and "hwloc" in result.stderr:
        pytest.skip("this build is without hwloc")
    links = {link["id"] for link in json.loads(result.stdout)["links"]}
    assert set(hosts.CAPACITIES) <= links
    assert {link for row in hosts.Host("gpu-00").rows for link in row.links} <= links


# --- who is named ---

def link_of(f, host):
    """The only link named by the host's incident."""
    return [i["subject"] for i in f.incidents() if i["node"] == host]


def pick(seed, n):
    """Three different hosts of n."""
    return [f"gpu-{(seed * 7 + i * (n // 3)) % n:02d}" for i in range(3)]


def sick_fleet(seed, n, **more):
    slow_gpu, slow_link, slow_host = pick(seed, n)
    ill = {slow_gpu: [faults.SlowGpu(seed % 8)], slow_link: [faults.SlowLink(hosts.uplink(seed % 4))],
           slow_host: [faults.SlowHost()]}
    return ill, hosts.fleet(n, seed, ill, **more)


@pytest.mark.once
@pytest.mark.parametrize("n", [16, 64])
def test_the_sick_hosts_have_incidents_and_no_others(fleet, full, n, record_property):
    seeds = 50 if full else 5 if n == 16 else 1
    found = wrong = healthy = exact = 0
    for seed in range(seeds):
        ill, members = sick_fleet(seed, n)
        f = fleet(members)
        f.run("full")
        found += len(f.named() & set(ill))
        wrong += len(f.named() - set(ill))
        healthy += n - len(ill)
        exact += link_of(f, pick(seed, n)[1]) == [hosts.uplink(seed % 4)]
        f.close()
    record_property("found", f"{found} of {3 * seeds}")
    record_property("wrong", f"{wrong} of {healthy}")
    record_property("links", f"{exact} of {seeds}")
    print(f"{n} hosts, {seeds} seeds: {found} of {3 * seeds} sick hosts named, {wrong} of {healthy} healthy ones, "
          f"{exact} of {seeds} links exact")
    assert exact == seeds
    assert found >= 0.97 * 3 * seeds
    assert wrong <= healthy / 1000


@pytest.mark.long
def test_the_sentences_name_the_part(fleet):
    ill, members = sick_fleet(0, 16)
    slow_gpu, slow_link, slow_host = pick(0, 16)
    f = fleet(members, profiles=("quick", "full"))
    by_name = {h.node: h for h in members}
    found = {}
    for i in f.incidents():
        found.setdefault(i["node"], {})[i["check"]] = i
    gemm = found[slow_gpu]["gemm.rate"]
    assert set(found[slow_gpu]) == set(found[slow_host]) == {"gemm.rate"}
    assert gemm["subject"] == by_name[slow_gpu].gpu_names[0]
    assert gemm["sentence"].startswith(f"{slow_gpu}: gpu 0 runs at ") and "TFLOP/s" in gemm["sentence"]
    assert set(found[slow_link]) == {"loopback.link"}
    link = found[slow_link]["loopback.link"]
    assert link["subject"] == hosts.uplink(0)
    name = "PCIe switch 0000:16:00.0 uplink"
    assert re.match(rf"{slow_link}: {name}: 2[67]\.\d of (49|50)\.\d GB/s, seen on 28 paths, contradicted by none", link["sentence"])
    node = f.controller.get(f"/v1/nodes/{slow_link}").json
    assert name in node["sentence"] and node["verdict"] == "fail"
    items = f.controller.get(f"/v1/nodes/{slow_link}/why").json["items"]
    assert items[0]["subject"] == hosts.uplink(0)
    over = {(r.check, r.fixed["subject"]) for r in by_name[slow_link].rows if hosts.uplink(0) in r.links}
    assert {(i["check"], i["subject"]) for i in items[1:]} == over
    assert all(i["link"] == hosts.uplink(0) and name in i["sentence"] for i in items[1:])


# --- who is not ---

@pytest.mark.parametrize("fault", ["contended", "set-up"])
def test_what_was_not_measured_condemns_nobody(fleet, fault):
    f = fleet(hosts.fleet(8, faults={f"gpu-{i:02d}": [ALL_FAULTS[fault]] for i in (2, 5)}), runs=4)
    assert f.incidents() == []
    assert {n["node"] for n in f.items("/v1/nodes") if n["verdict"] == "inconclusive"} == {"gpu-02", "gpu-05"}


def test_wrong_data_and_a_missing_gpu_are_named(fleet):
    ill = {"gpu-01": [faults.WrongData(5)], "gpu-04": [faults.MissingGpu(2, first=2)]}
    f = fleet(hosts.fleet(8, faults=ill))
    assert {(i["node"], i["check"], i["fatal"]) for i in f.incidents()} == {
        ("gpu-01", "gemm.correct", True), ("gpu-04", "inventory.gpus", False)}


def test_two_models_are_never_compared(fleet):
    """Half of the hosts are another SKU, 15 % slower by design, and one of each is slow."""
    a = hosts.fleet(8, faults={"gpu-02": [faults.SlowGpu(1)]})
    b = hosts.fleet(8, prefix="old-", sku="hgx-old", gemm_rate=0.85 * hosts.GEMM, faults={"old-06": [faults.SlowHost()]})
    f = fleet(a + b)
    assert f.named() == {"gpu-02", "old-06"}


# hgx-own has no SKU file: only the fleet can judge it.
@pytest.mark.long
def test_a_fleet_half_upgraded_is_judged_in_halves(fleet):
    """The new driver costs 12 %; hosts are compared only with their own half."""
    new = {"env": {"driver": "560.35.03"}, "gemm_rate": 0.88 * hosts.GEMM, "sku": "hgx-own"}
    old = hosts.fleet(8, prefix="old-", sku="hgx-own", faults={"old-03": [faults.SlowGpu(0)]})
    f = fleet(old + hosts.fleet(8, prefix="new-", faults={"new-05": [faults.SlowGpu(6)]}, **new))
    assert f.named() == {"old-03", "new-05"}
    rates = [b for b in f.items("/v1/baselines?limit=1000") if b["check"] == "gemm.rate"]
    assert {b["params"]["driver"]: b["hosts"] for b in rates} == {"550.54.15": 7, "560.35.03": 7}


def test_drift_names_the_host_and_leaves_the_others_baseline_alone(fleet):
    f = fleet(hosts.fleet(8, faults={"gpu-06": [faults.Drift(), faults.SlowHost(0.07)]}, sku="hgx-own"))
    item, = f.items("/v1/drift")
    assert (item["key"], item["majority"], item["nodes"]) == (
        "driver", hosts.ENV["driver"], [{"node": "gpu-06", "value": "535.129.03"}])
    usual, = [b for b in f.items("/v1/baselines?limit=1000")
              if b["check"] == "gemm.rate" and b["params"]["driver"] == hosts.ENV["driver"]]
    assert usual["hosts"] == 7
    assert f.incidents() == []


# --- when it is not a host ---

def wide(members, part, fault):
    """Puts `fault` on the first part of the hosts."""
    for h in members[:round(part * len(members))]:
        h.faults.append(fault)
    return members


def test_when_most_slow_down_at_once_nobody_is_named_but_the_fleet_is(fleet):
    members = wide(hosts.fleet(16, sku="hgx-own"), 0.75, faults.SlowHost(0.12, first=4))
    f = fleet(members, runs=3)
    assert f.incidents() == []
    for _ in range(3):
        f.run()
    incident, = f.incidents()
    assert (incident["node"], incident["check"], incident["verdict"]) == ("sku:hgx-own", "gemm.rate", "warn")
    assert incident["sentence"].startswith("hgx-own: 12 of 16 hosts have a problem in gemm.rate at once")
    assert {n["verdict"] for n in f.items("/v1/nodes") if n["node"] < "gpu-12"} <= {"warn", "fail"}
    assert f.controller.get("/v1/nodes/gpu-03/why").json["incidents"] == [incident]
    for h in members:
        h.faults.clear()
    f.run()
    assert f.incidents() == []


@pytest.mark.long
def test_when_few_slow_down_they_are_named(fleet):
    f = fleet(wide(hosts.fleet(16, sku="hgx-own"), 0.25, faults.SlowHost(0.12, first=4)), runs=6)
    assert f.named() == {f"gpu-{i:02d}" for i in range(4)}


@pytest.mark.long
def test_a_wrong_sku_file_names_no_host_but_the_sick_one(controller, fleet, top, tmp_path):
    policies = tmp_path / "policies"
    shutil.copytree(top / "policies", policies)
    file = policies / "sku" / "hgx-h100.yaml"
    text = file.read_text()
    assert "value: 650e12" in text and "floor: 464e12" in text
    file.write_text(text.replace("650e12", "1589e12").replace("464e12", "1430e12"))
    f = Fleet(controller(env={"ASSAY_POLICY_DIR": str(policies)}), hosts.fleet(16, faults={"gpu-09": [faults.SlowGpu(4)]}), runs=4)
    assert f.named() == {"sku:hgx-h100", "gpu-09"}
    sentence, = [i["sentence"] for i in f.incidents() if i["node"].startswith("sku:")]
    assert "16 of 16 hosts" in sentence and "the SKU file" in sentence
    hosts_now = {n["node"]: (n["verdict"], n["sentence"]) for n in f.items("/v1/nodes")}
    _, own = hosts_now.pop("gpu-09")
    assert "gpu 4 runs" in own and "sku:" not in own, "what is its own is said of it"
    (level, same), = set(hosts_now.values())
    assert level == "warn" and "like most hosts of hgx-h100" in same and "gemm.rate" in same
    assert f.controller.metrics()['assay_nodes{verdict="warn"}'] >= 15
    rates, = [b for b in f.items("/v1/baselines?limit=1000") if b["check"] == "gemm.rate"]
    assert rates["hosts"] == 15, "what the fleet reaches is learned all the same"
    file.write_text(text)
    f.controller.stop()
    f.restart(controller(db=f.controller.db, env={"ASSAY_POLICY_DIR": str(policies)}))
    for _ in range(2):
        f.run()
    assert f.named() == {"gpu-09"}, "the file is right again"
    assert {n["verdict"] for n in f.items("/v1/nodes") if n["node"] != "gpu-09"} == {"pass"}
    f.close()


@pytest.mark.long
def test_a_fleet_that_is_told_is_not_named_host_by_host_after_a_restart(fleet, controller):
    f = fleet(wide(hosts.fleet(16), 1, faults.SlowHost(0.3, first=3)), runs=5)
    assert f.named() == {"sku:hgx-h100"}
    f.controller.stop()
    f.restart(controller(db=f.controller.db))
    for h in f.agents.hosts:
        f.run(some=[h])
        assert f.named() == {"sku:hgx-h100"}


def test_too_few_hosts_to_compare_say_so(fleet):
    f = fleet(hosts.fleet(4))
    for n in f.items("/v1/nodes"):
        assert n["verdict"] == "pass" and "too few to compare: 3 other hosts of hgx-h100, and 5 are needed" in n["sentence"]
    more = hosts.fleet(8)[4:]
    f.agents.hosts += more
    for _ in range(2):
        f.run()
    assert not any("too few" in n["sentence"] for n in f.items("/v1/nodes"))


# --- what hosts share ---

JOB = "research/llm-7"


def claim(f, members, ranks=True):
    """Each reports a rank of the job, or no longer."""
    for i, host in enumerate(members):
        process = {"start": 1000, "age_s": 60, "env": {"RANK": str(i), "ASSAY_JOB": JOB}}
        body = {"format": "assay-processes/1", "boot_id": "b1", "processes": [process] if ranks else []}
        assert f.controller.call("PUT", f"/v1/nodes/{host.node}/processes", json.dumps(body).encode()).status == 200


def shared(f):
    return [i for i in f.incidents() if i["node"].startswith(("job:", "fleet:", "setting:"))]


@pytest.mark.once
def test_hosts_that_are_low_in_one_job_are_told_as_that_job_also_once_they_have_left_it(fleet, controller, wait_until):
    members = hosts.fleet(32)
    f = fleet(members, runs=2)
    claim(f, members[:6])
    for host in members[:6]:
        host.faults = [faults.SlowHost(by=0.2)]
    # The first are found and leave the job: they are held for a test, or the job was stopped.
    f.run(some=members[:4])
    claim(f, members[:6], ranks=False)
    f.run()
    wait_until(lambda: shared(f))
    (cause,) = shared(f)
    assert cause["node"].startswith("job:") and JOB in cause["sentence"] and re.search(r"\b[4-6] of [4-6] hosts of job", cause["sentence"]), cause
    f.run()
    assert f.named() == {cause["node"]}
    f.restart(restarted(f, controller))
    f.run()
    assert f.named() == {cause["node"]}


def restarted(f, controller):
    assert f.controller.stop()[0] == 0
    return controller(db=f.controller.db)
