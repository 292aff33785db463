# SPDX-License-Identifier: Apache-2.0
"""The Debian packages: built, linted, installed, upgraded, removed and purged in a clean Debian system."""
import re
import shutil
import subprocess

import pytest

from chroot import REAL_PATH

NAMES = ("assay", "assay-common", "assay-controller", "assay-doc", "assayctl")
UNITS = ("assay-controller.service", "assay-full.service", "assay-full.timer", "assay-passive.service", "assay-passive.timer",
         "assay-quick.service", "assay-quick.timer", "assayd.service")
DAEMONS = ("assay-controller.service", "assayd.service")
KEPT = ("etc/assay", "var/lib/assay", "var/lib/assay-controller", "var/lib/private/assay-controller")
LINT_S = 600
# Host and controller on one machine, as set up by an administrator: secrets belong to root or a group.
CONFIGURE = """
umask 022
grep -q ^assay-controller: /etc/passwd || useradd --system --no-create-home assay-controller
cd /etc/assay
printf 'v: 1\\nlisten: 127.0.0.1:9470\\ndb: /var/lib/assay-controller/assay.db\\ntokens: /etc/assay/tokens.yaml\\n' >controller.yaml
printf 'v: 1\\ncontroller: http://127.0.0.1:9470\\nnode: host-1\\ntoken_file: /etc/assay/token\\n' >assayd.yaml
install -m 600 /dev/null token
install -m 640 -g assay-controller /dev/null controller.key
printf secret >token
printf key >controller.key
printf 'v: 1\\ntokens:\\n  - {sha256: %s, node: host-1}\\n  - {sha256: %s, role: read}\\n' \\
    "$(printf secret | sha256sum | cut -c-64)" "$(printf ask | sha256sum | cut -c-64)" >tokens.yaml
printf ask >/srv/ask
chmod 600 /srv/ask
mkdir -p /var/lib/private/assay-controller
chown assay-controller: /var/lib/private/assay-controller
[ -e /var/lib/assay-controller ] || ln -s private/assay-controller /var/lib/assay-controller
chmod 711 /var/lib/private
"""
# The kernel log cannot be read in there, so it would be incomplete.
RUN = "ASSAY_NODE=host-1 assay run --profile passive --report || [ $? -eq 3 ]"
# Started like by its unit, until this host is listed and its spool is empty.
REPORT = """
ASSAY_STATE_DIR=/var/lib/assay-controller setpriv --reuid assay-controller --regid assay-controller --clear-groups \\
    assay-controller --config /etc/assay/controller.yaml 2>/run/controller.err &
controller=$!
assayd 2>/run/assayd.err &
daemon=$!
n=0
until ASSAY_TOKEN_FILE=/srv/ask assayctl --controller http://127.0.0.1:9470 node host-1 && ! ls /var/lib/assay/spool/*.json; do
    n=$((n + 1))
    [ $n -lt 100 ] || { cat /run/controller.err /run/assayd.err; exit 1; }
    sleep 0.5
done >/run/node 2>&1
cat /run/node
kill $daemon $controller
wait || :
rm -f /run/node /run/*.err
"""


def debs(folder, *names):
    """The files of these packages; by default all except debug symbols."""
    found = {deb.name.split("_")[0]: deb for deb in folder.glob("*.deb")}
    return [found[name] for name in names or NAMES]


def asked(calls, verb):
    """The units of ours with this request."""
    return {name for call in calls if verb in call.split() for name in re.findall(r"assay\S*\.(?:service|timer)", call)}


def is_enabled(system, unit):
    return system.run(f"SYSTEMD_OFFLINE=1 systemctl is-enabled {unit}", path=REAL_PATH).stdout.strip()


def test_lintian_has_no_error(packages):
    if not shutil.which("lintian"):
        pytest.skip("lintian is missing: apt-get install lintian")
    changes = list(packages.glob("*.changes"))
    out = subprocess.run(["lintian", "--tag-display-limit=0", *map(str, changes)], capture_output=True, text=True, timeout=LINT_S)
    print(out.stdout)
    assert len(changes) == 1 and not re.search(r"^E:", out.stdout, re.M) and out.returncode == 0, out.stdout + out.stderr


def test_symbols_are_packages_of_their_own(packages):
    assert {deb.name.split("_")[0] for deb in packages.glob("*.deb")} == {*NAMES, *(f"{n}-dbgsym" for n in ("assay", "assay-controller", "assayctl"))}


def test_installed_nothing_runs_and_all_is_there(system, packages):
    words, calls = system.install(debs(packages))
    assert not re.search(r"(?i)error|fail|warning", words), words
    assert asked(calls, "start") == set(DAEMONS)  # they wait for their file: ConditionPathExists=
    assert asked(calls, "restart") | asked(calls, "stop") == set()
    assert system.do("dpkg-query -W -f '${Conffiles}' " + " ".join(NAMES)) == ""
    assert re.search(r"^assay-controller:x:\d{1,3}:\d{1,3}:Assay controller:/:\S*nologin$", system.do("cat /etc/passwd"), re.M)
    assert {name: is_enabled(system, name) for name in UNITS} == {name: "enabled" if name in DAEMONS else "disabled" if name.endswith("timer") else "static" for name in UNITS}
    assert system.do("systemd-analyze verify --man=no " + " ".join(f"/lib/systemd/system/{u}" for u in UNITS), path=REAL_PATH) == ""
    for name in DAEMONS:
        assert "ConditionPathExists=/etc/assay/" in system.do(f"cat /lib/systemd/system/{name}")
    loaded = system.do("ldd /usr/bin/assay /usr/bin/assay-attribute /usr/bin/assayctl /usr/sbin/assay* /usr/libexec/assay/* 2>&1")
    assert not re.search(r"not found|libcu(da|blas)|nccl", loaded), loaded
    where = system.root / "usr/share/doc/assay"
    for page in where.rglob("*.md"):  # tests/system/test_docs.py has the words that are no links
        links = [link.partition("#")[0] for link in re.findall(r"\]\(([^)\s:]+)\)", page.read_text())]
        assert [link for link in links if link and not (page.parent / link).is_file()] == [], page


def test_the_tests_of_the_package_pass(system, packages, top):
    system.install(debs(packages))
    for name in ("run-without-gpu", "host-and-controller"):
        shutil.copy(top / "debian/tests" / name, system.root / "srv" / name)
        print(system.do(f"mkdir -p /tmp/{name}; AUTOPKGTEST_TMP=/tmp/{name} /srv/{name}", path=REAL_PATH))


def test_an_upgrade_keeps_configuration_and_state(system, packages, packages_before):
    system.install(debs(packages_before))
    system.do(CONFIGURE)
    system.do(RUN)
    assert "host-1" in system.do(REPORT)
    system.do(RUN)  # this report stays in the spool
    before = system.tree(*KEPT)
    assert {"var/lib/assay/spool/2.json", "var/lib/assay/verdict.json", "var/lib/private/assay-controller/assay.db"} <= set(before)
    system.do("SYSTEMD_OFFLINE=1 systemctl enable assay-passive.timer assay-quick.timer", path=REAL_PATH)
    _, calls = system.install(debs(packages))
    assert asked(calls, "restart") == set(DAEMONS)
    assert asked(calls, "try-restart") == {u for u in UNITS if u.endswith("timer")}  # affects only running ones
    assert asked(calls, "start") | asked(calls, "stop") == set()
    assert is_enabled(system, "assay-passive.timer") == "enabled" and is_enabled(system, "assay-full.timer") == "disabled"
    assert system.tree(*KEPT) == before
    assert before["etc/assay/token"][1:4] == (0o600, 0, 0)
    assert "admitted, by a passive run" in system.do("assay admit")
    assert "host-1" in system.do(REPORT)  # the store is upgraded, and the spooled report is sent
    assert "var/lib/assay/spool/2.json" not in system.tree(*KEPT)


def test_removed_it_keeps_and_purged_it_leaves_nothing(system, packages):
    system.do("mkdir -p /var/lib/systemd/timers /var/lib/private; chmod 711 /var/lib/private")  # systemd's own
    untouched = system.tree()
    system.install(debs(packages))
    system.do(CONFIGURE)
    system.do(RUN)
    system.do(REPORT)
    system.do("touch /var/lib/systemd/timers/stamp-assay-full.timer")  # like systemd
    kept = system.tree(*KEPT)
    assert len(kept) > 10
    _, calls = system.asking("dpkg --remove " + " ".join(NAMES))
    assert asked(calls, "stop") == {name for name in UNITS if name in DAEMONS or name.endswith("timer")}
    assert system.tree(*KEPT) == kept
    system.do("dpkg --purge " + " ".join(NAMES))
    after = system.tree()
    differ = sorted(path for path in untouched.keys() | after.keys() if untouched.get(path) != after.get(path))
    print("left or changed after the purge: %d of %d" % (len(differ), len(untouched)))
    assert differ == []
    assert "assay" not in system.do("dpkg-query -W; cat /etc/passwd /etc/group /etc/shadow /etc/gshadow")


@pytest.mark.parametrize("first,theirs,others", [
    ("assay", {"assayd.yaml", "token"}, {"controller.yaml", "tokens.yaml", "controller.key"}),
    ("assay-controller", {"controller.yaml", "tokens.yaml", "controller.key"}, {"assayd.yaml", "token"}),
])
def test_purged_alone_it_leaves_what_is_the_others(system, packages, first, theirs, others):
    system.install(debs(packages, "assay", "assay-common", "assay-controller"))
    system.do(CONFIGURE)
    system.do(RUN)
    system.do(f"dpkg --purge {first}")
    left = {path.name for path in (system.root / "etc/assay").iterdir()}
    assert left == others and not left & theirs
    assert (system.root / "var/lib/assay/verdict.json").exists() == (first != "assay")
    assert (system.root / "var/lib/private/assay-controller").exists() == (first == "assay")
    assert ("assay-controller:" in system.do("cat /etc/passwd")) == (first == "assay")


def test_a_user_of_the_administrator_is_taken_as_it_is(system, packages):
    """Created manually before, as docs/controller.md used to say."""
    system.do("useradd --system --no-create-home assay-controller")
    before = system.do("grep assay-controller /etc/passwd /etc/group")
    system.install(debs(packages, "assay-common", "assay-controller"))
    assert system.do("grep assay-controller /etc/passwd /etc/group") == before
