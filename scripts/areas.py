# SPDX-License-Identifier: Apache-2.0
"""The selection of scripts/test quick: the areas changed since a commit, and their system tests.

A path belongs to the areas of its longest prefix in PLACES. A changed test is run itself, and a changed helper of tests
causes the tests that import it to run. ALL is every system test that is neither `once` nor `alone` nor LONG; lint and the
unit tests always run.
"""
import fnmatch
import os
import re
import subprocess

ALL = "all"
NONE = ""  # covered by lint and the unit tests, or not at all
LONG = {"tests/system/test_sim.py"}  # more than a minute of CPU time, a third of all others together
# Tests of each area, FOLDER/NAME for tests/FOLDER/test_NAME.py.
TESTS = {
    "run": "system/run* system/list system/first_look system/bad_probes system/start system/usage system/topology system/disk_full system/power_loss",
    "admit": "system/admit*",
    "judge": "system/explain system/localise* system/controller_kept system/gemm_vote system/run",
    "policy": "system/sim system/held_out system/fleet* system/budget_manual system/controller_life system/replaced system/tables_filled",
    "host": "system/settings system/host_state*",
    "gpu": "system/gemm* system/memory* system/part_names system/settings system/gpu_* system/real_time system/all_to_all system/cuda_places system/abi",
    "rdma": "system/loopback system/rnic_pair system/all_reduce* system/all_to_all_rnics system/verbs_missing system/guest system/rdma_kinds",
    "rnic": "system/rnic_state system/rnic_settings system/watch_links",
    "assayd": "system/assayd* system/processes system/rings* system/trace_directory system/canary system/watch* system/outage system/clock system/power_loss system/disk_full system/hang_look",
    "alerts": "system/alerts* kube/alerts*",
    "controller": "system/controller* system/fleet_routes system/deploy_alerts system/deploy_grafana system/openapi system/assayctl_views system/assayd_controller system/outage system/tables_filled",
    "store": "system/statements system/store_* system/controller_store system/controller_kill system/replaced",
    "actions": "system/act_guards system/actor_driver system/assayctl_act* system/controller_act_kill system/controller_upgrade system/controller_life system/budget_manual system/burns system/fleet_opinion",
    "campaigns": "system/campaigns* system/assayctl_campaign system/assayd_collective* system/guest_fleet",
    "hang": "system/rhythm system/hang* system/nccl_plugin* system/ring* system/attribute_hang system/real_hang",
    "kube": "kube/* system/kube_call",
    "attribution": "system/attribute* system/assay_plan* system/remedy* system/hotspa* system/lateness system/ring_lateness system/ring_attribution system/optrace system/job_trace system/jobs_labels system/jobs_same system/jobs_traces",
    "job": "system/trace_directory system/job* system/placement system/real_job system/investigations* system/diagnose*",
    "job_links": "system/job_links",
    "job_stops": "system/job_beats system/job_hangs system/job_logs",
    "diagnosis": "system/diagnose*",
    "cli": "system/assayctl* system/usage system/part_names",
    "deploy": "system/deploy_* system/slurm* kube/deploy kube/tutorial_kube",
    "docs": "system/man system/docs system/tutorials kube/tutorial_kube system/openapi system/controller_metrics system/controller_series system/deploy_alerts system/deploy_grafana system/deploy_kubernetes",
    "join": "system/doctor system/join system/joined system/assayctl_shell",
    "units": "system/systemd* system/assayd_unit system/controller_unit",
    "scripts": "system/scripts system/unit_programs system/quick system/lint system/quickstart system/on_gpu system/same_code",
    "packaging": "system/packaging",
    "page": "system/page*",
    "nothing": "system/usage system/list system/controller system/assayctl_shell",
}
PLACES = (
    ("lib/", ALL),
    ("lib/hang/", "hang"),
    ("lib/judge/", "judge policy"),
    ("lib/net/", "assayd cli kube"),
    ("lib/pairing/", "campaigns"),
    ("lib/policy/", "policy actions"),
    ("lib/policy/blame", "policy job"),
    ("lib/policy/suspicion", "policy job"),
    ("lib/remedy/", "attribution job"),
    ("lib/ring/", "hang assayd attribution"),
    ("lib/topology/", "run gpu rdma"),
    ("plugins/", "hang"),
    ("probes/accel/", "gpu"),
    ("probes/all_reduce/", "rdma campaigns"),
    ("probes/all_to_all/", "gpu rdma"),
    ("probes/coll/", "gpu rdma"),
    ("probes/gemm/", "gpu"),
    ("probes/gpu_state/", "gpu"),
    ("probes/harness/", "run host gpu rdma rnic"),
    ("probes/host_state/", "host"),
    ("probes/loopback/", "rdma"),
    ("probes/memory/", "gpu"),
    ("probes/rdma/", "rdma"),
    ("probes/rhythm/", "hang"),
    ("probes/rnic_pair/", "rdma campaigns"),
    ("probes/rnic_state/", "rnic"),
    ("agents/", "run admit judge assayd"),
    ("agents/assay/", "run judge"),
    ("agents/assay/cmd_admit", "admit"),
    ("agents/assayd/", "assayd"),
    ("agents/assayd/hang_", "assayd hang"),
    ("agents/assayd/link_", "assayd rnic"),
    ("agents/assayd/order", "assayd campaigns"),
    ("agents/assayd/watch", "assayd rnic"),
    ("agents/doctor/", "join"),
    ("agents/join/", "join"),
    ("agents/run/", "run judge assayd"),
    ("attribution/", "attribution"),
    ("controller/", "controller policy"),
    ("controller/actions/", "actions kube"),
    ("controller/alerts/", "alerts"),
    ("controller/auth/", "controller kube join page"),
    ("controller/campaign/", "campaigns"),
    ("controller/cluster/", "actions kube"),
    ("controller/job/", "job"),
    ("controller/job/beats", "job_stops"),
    ("controller/job/diagnos", "diagnosis"),
    ("controller/job/hang", "job_stops hang"),
    ("controller/job/link_", "job_links"),
    ("controller/http/", "controller page"),
    ("controller/routes/", "controller cli page"),
    ("controller/store/", "controller store"),
    ("cli/", "cli"),
    ("page/", "page packaging"),
    ("policies/", "run judge policy gpu deploy"),
    ("policies/sku/", "run judge gpu"),
    ("systemd/", "units packaging"),
    ("debian/", "packaging"),
    ("packaging/", "packaging"),
    ("deploy/", "deploy"),
    ("docs/", "docs"),
    ("docs/examples/", "packaging"),
    ("scripts/", "scripts"),
    ("tests/", ALL),
    ("tests/actor_driver/", "actions"),
    ("tests/attribution/", "attribution"),
    ("tests/hang/", "hang"),
    ("tests/bench/", NONE),
    ("tests/fakes/gpu_", "gpu"),
    ("tests/fakes/crash_", "store"),
    ("tests/fakes/disk_", "store assayd"),
    ("tests/fakes/accel_", NONE),
    ("tests/fakes/rdma_", NONE),
    ("tests/fixtures/", "run judge"),
    ("tests/fixtures/store", "store"),
    ("tests/fuzz/", NONE),
    ("tests/gpu/", "scripts"),
    ("tests/guest/", "rdma campaigns"),
    ("tests/job/", "job"),
    ("tests/kube/", "kube"),
    ("tests/sim/", "policy"),
    ("tests/nccl/", "hang"),
    ("tests/packages/", NONE),
    ("tests/unit/", NONE),
    ("tests/unit/run", "scripts"),
    ("tests/unit/test.", "scripts"),
    (".ci/", NONE),
    ("COPYING", NONE),
    ("Makefile.am", "scripts packaging"),
    ("HACKING.md", NONE),
    ("NEWS", NONE),
    ("README.md", "docs"),
    (".clang-", NONE),
    (".codespell", NONE),
    (".gitignore", NONE),
)


def areas_of(path):
    """The names of a path's areas, perhaps ALL; a path without a prefix in the table (build files) belongs to ALL."""
    fitting = [row for row in PLACES if path.startswith(row[0])]
    return max(fitting, key=lambda row: len(row[0]))[1].split() if fitting else [ALL]


def is_test(path):
    return re.fullmatch(r"tests/(system|kube)/test_\w+\.py", path) is not None


def text_of(top, path):
    with open(os.path.join(top, path), encoding="utf-8") as f:
        return f.read()


def imports(top, path):
    return set(re.findall(r"^\s*(?:from|import) (\w+)", text_of(top, path), re.M))


def importers(top, helper):
    """The tests that import a Python file, directly or not; for a conftest.py all tests in its folder."""
    folders = ("tests/system", "tests/kube", "tests/fleet", "tests/guest")
    users = {path: imports(top, path) for folder in folders for name in sorted(os.listdir(os.path.join(top, folder)))
             if name.endswith(".py") for path in [folder + "/" + name]}
    found, todo = set(), [helper]
    while todo:
        path = todo.pop()
        name = os.path.splitext(os.path.basename(path))[0]
        new = {user for user, names in users.items() if name in names or
               name == "conftest" and is_test(user) and os.path.dirname(user) == os.path.dirname(path)} - found
        found |= new
        todo += new
    return {path for path in found if is_test(path)}


def tests_of(top, area):
    """The test files of an area."""
    found = set()
    for pattern in TESTS[area].split():
        folder, name = pattern.split("/")
        found |= {"tests/%s/%s" % (folder, n) for n in fnmatch.filter(os.listdir(os.path.join(top, "tests", folder)), "test_%s.py" % name)}
    return found


def git(top, *words):
    """The output lines of git, or None if it fails."""
    done = subprocess.run(["git", "-C", top, *words], capture_output=True, text=True, check=False)
    return done.stdout.split("\n")[:-1] if done.returncode == 0 else None


def base(top, since):
    """(commit, description): REV itself, or where this branch left its target branch."""
    if since:
        return since, since
    for upstream in ("@{upstream}", "origin/HEAD", "origin/main", "main"):
        found = git(top, "merge-base", "HEAD", upstream)
        if found and found != git(top, "rev-parse", "HEAD"):
            name = git(top, "rev-parse", "--abbrev-ref", upstream) or [upstream]
            return found[0], "this branch left " + name[0]
    return "HEAD", "HEAD"


def changed_paths(top, commit):
    """Files that differ from a commit in the working tree, and untracked files; None if there is no such commit."""
    differ = git(top, "diff", "--name-only", "--no-renames", commit, "--")
    return None if differ is None else sorted({*differ, *git(top, "ls-files", "-o", "--exclude-standard")})


class Choice:
    """`files`: the tests to run. `direct`: those that run despite the marks `once` and `alone`. `why`: the reason in a line."""

    def __init__(self, top, since=None):
        commit, words = base(top, since)
        paths = changed_paths(top, commit)
        if paths is None and since:
            raise ValueError("no such commit: %s" % since)
        self.direct, self.files = set(), set()
        areas = {ALL} if paths is None else set()
        for path in paths or ():
            is_python = path.startswith("tests/") and path.endswith(".py") and os.path.exists(os.path.join(top, path))
            if is_test(path) and is_python:
                self.direct.add(path)
            elif is_python and importers(top, path):
                self.files |= importers(top, path)
            elif not is_test(path):
                areas |= set(areas_of(path))
        if paths == []:
            areas = {"nothing"}
        for area in areas - {ALL}:
            self.direct |= tests_of(top, area)
        self.files |= self.direct
        if ALL in areas:
            self.files |= {"tests/system/" + name for name in os.listdir(os.path.join(top, "tests/system"))
                           if is_test("tests/system/" + name)} - LONG
        changed = "no git here" if paths is None else "changed since %s (paths: %d)" % (words, len(paths))
        self.why = "%s: %s; files of system tests: %d" % (changed, " ".join(sorted(areas)) or "no area", len(self.files))
