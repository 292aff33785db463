# SPDX-License-Identifier: Apache-2.0
"""scripts/test quick: each path of the tree belongs to an area, each system test too, and the tests of changed areas run."""
import subprocess
import sys

import pytest

pytestmark = pytest.mark.once


@pytest.fixture
def scripts(top, monkeypatch):
    monkeypatch.syspath_prepend(str(top / "scripts"))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)


@pytest.fixture
def areas(scripts):
    import areas as module
    return module


@pytest.fixture
def parts(scripts):
    import parts as module
    return module


@pytest.fixture
def tracked(top):
    """The paths tracked by git."""
    done = subprocess.run(["git", "-C", top, "ls-files"], capture_output=True, text=True, check=False)
    if done.returncode or not done.stdout:
        pytest.skip("not a git checkout: nobody says which paths are of the tree")
    return done.stdout.split("\n")[:-1]


def test_what_takes_long_is_there(areas, top):
    assert all((top / path).exists() for path in areas.LONG)


def test_every_area_that_a_path_is_of_has_tests(areas, tracked):
    assert {area for path in tracked for area in areas.areas_of(path)} - {areas.ALL} <= set(areas.TESTS)


def test_no_row_of_the_map_is_of_paths_that_are_gone(areas, tracked):
    assert [prefix for prefix, _ in areas.PLACES if not any(path.startswith(prefix) for path in tracked)] == []


def test_every_test_is_of_an_area_and_every_area_has_those_it_names(areas, top, tracked):
    everything = {path for area in areas.TESTS for path in areas.tests_of(str(top), area)}
    assert [path for path in tracked if areas.is_test(path) and path not in everything] == []
    for area, names in areas.TESTS.items():
        for name in names.split():
            folder, _, stem = name.partition("/")
            assert list((top / "tests" / folder).glob(f"test_{stem}.py")), f"{area}: {name}"


def test_the_longest_prefix_counts_and_what_has_none_is_of_all(areas, monkeypatch):
    monkeypatch.setattr(areas, "PLACES", (("lib/", "all"), ("lib/judge/", "judge policy"), ("lib/judge/x", "")))
    for path, names in {"lib/a.c": ["all"], "lib/judge/a.c": ["judge", "policy"], "lib/judge/x.c": [], "more/a.c": ["all"]}.items():
        assert areas.areas_of(path) == names


FILES = {
    "cli/a.c": "", "controller/a.c": "", "lib/a.c": "", "NEWS": "",
    "tests/system/conftest.py": "from helper import x\n", "tests/system/helper.py": "import deeper\n", "tests/system/deeper.py": "",
    "tests/system/test_cli.py": "def test_a():\n    import other\n", "tests/system/other.py": "import yet\n", "tests/system/yet.py": "",
    "tests/system/test_controller.py": "", "tests/system/test_few.py": "", "tests/kube/test_kube.py": "", "tests/fleet/a.py": "",
    "tests/guest/a.py": "",
}


@pytest.fixture
def tree(areas, tmp_path, monkeypatch):
    """tree("git words") runs git in a separate tree, on a branch `topic` off main; tree.top is its path."""
    monkeypatch.setattr(areas, "PLACES", (("cli/", "cli"), ("controller/", "controller"), ("lib/", "all"), ("tests/", "all"), ("NEWS", "")))
    monkeypatch.setattr(areas, "TESTS", {"cli": "system/cli", "controller": "system/controller kube/*", "nothing": "system/few"})
    for path, text in FILES.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)

    def git(words):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words.split()], cwd=tmp_path, check=True, capture_output=True)

    for words in ("init -b main", "add .", "commit -m first", "checkout -b topic"):
        git(words)
    git.top = tmp_path
    return git


def names(paths):
    return {path.split("test_")[1][:-3] for path in paths}


@pytest.mark.parametrize("path, direct, files", [
    ("cli/a.c", {"cli"}, {"cli"}),
    ("cli/new.c", {"cli"}, {"cli"}),
    ("controller/a.c", {"controller", "kube"}, {"controller", "kube"}),
    ("lib/a.c", set(), {"cli", "controller", "few"}),
    ("somewhere/else", set(), {"cli", "controller", "few"}),
    ("NEWS", set(), set()),
    ("tests/system/test_few.py", {"few"}, {"few"}),
    ("tests/system/test_new.py", {"new"}, {"new"}),
    ("tests/system/yet.py", set(), {"cli"}),
    ("tests/system/deeper.py", set(), {"cli", "controller", "few"}),  # through conftest.py
    ("tests/guest/a.py", set(), {"cli", "controller", "few"}),        # not imported
])
@pytest.mark.parametrize("state", ["new", "staged", "committed"])
def test_what_changed_is_what_runs(areas, tree, path, direct, files, state):
    (tree.top / path).parent.mkdir(exist_ok=True)
    (tree.top / path).write_text(FILES.get(path, "") + "# more\n")
    for words in {"new": (), "staged": ("add .",), "committed": ("add .", "commit -m second")}[state]:
        tree(words)
    choice = areas.Choice(str(tree.top))
    assert (names(choice.direct), names(choice.files)) == (direct, files)
    since = "this branch left main" if state == "committed" else "HEAD"
    assert choice.why.startswith(f"changed since {since} (paths: 1): ")


def test_a_test_that_is_gone_runs_nothing_and_what_moved_counts_twice(areas, tree):
    tree("rm tests/system/test_few.py")
    assert areas.Choice(str(tree.top)).files == set()
    tree("mv cli/a.c controller/b.c")
    assert names(areas.Choice(str(tree.top)).files) == {"cli", "controller", "kube"}


def test_what_main_did_since_is_not_ours(areas, tree):
    for words in ("checkout main", "rm cli/a.c", "commit -m theirs", "checkout topic", "rm controller/a.c"):
        tree(words)
    assert names(areas.Choice(str(tree.top)).files) == {"controller", "kube"}


def test_since_names_another_beginning(areas, tree):
    for words in ("rm cli/a.c", "commit -m one", "rm controller/a.c", "commit -m two"):
        tree(words)
    assert names(areas.Choice(str(tree.top), "HEAD~1").files) == {"controller", "kube"}
    with pytest.raises(ValueError, match="no such commit: nowhere"):
        areas.Choice(str(tree.top), "nowhere")


def test_where_nothing_changed_a_few_run_and_where_nobody_can_know_all(areas, tree):
    assert names(areas.Choice(str(tree.top)).files) == {"few"}
    (tree.top / ".git").rename(tree.top / "gone")
    choice = areas.Choice(str(tree.top))
    assert names(choice.files) == {"cli", "controller", "few"} and "no git here" in choice.why


def test_what_takes_long_runs_for_its_own_area_alone(areas, tree, monkeypatch):
    monkeypatch.setattr(areas, "LONG", {"tests/system/test_cli.py"})
    (tree.top / "lib/a.c").write_text("more")
    assert names(areas.Choice(str(tree.top)).files) == {"controller", "few"}
    (tree.top / "cli/a.c").write_text("more")
    assert names(areas.Choice(str(tree.top)).files) == {"cli", "controller", "few"}


def test_every_file_is_in_one_share_and_no_share_is_empty(parts, tmp_path):
    class Build:
        dir = str(tmp_path)
    (tmp_path / "a.xml").write_text('<testsuites><testcase classname="tests.system.test_lint" name="a" time="900"/>'
                                    '<testcase classname="tests.system.test_lint" name="b" time="99"/></testsuites>')
    (tmp_path / "half.xml").write_text("<testsuites>")
    files = [f"tests/system/test_{name}.py" for name in ("scripts", "quick", "lint", "list", "run")]
    for count in (1, 2, 6):
        shares = parts.shares_of(Build, files, count)
        assert sorted(sum(shares, [])) == sorted(files) and all(shares) and len(shares) == min(count, len(files))
    assert parts.shares_of(Build, files, 2)[0] == [files[2]]  # the longest in earlier runs


def test_tests_of_two_folders_are_in_no_share_together(parts, tmp_path):
    class Build:
        dir = str(tmp_path)
    files = {f"tests/system/test_{name}.py" for name in ("scripts", "quick", "lint")} | {"tests/kube/test_fence.py", "tests/kube/test_hands.py"}
    for count in (1, 2, 6):
        shares = parts.shares_by_folder(Build, files, count)
        assert sorted(sum(shares, [])) == sorted(files) and all(shares)
        assert all(len({path.split("/")[1] for path in share}) == 1 for share in shares)


def test_quick_is_a_way_of_its_own(top):
    for words, sentence in ((["system", "--since", "HEAD"], "--since is of quick"), (["quick", "lint"], "no such part: quick"),
                            (["quick", "--since", "nowhere"], "no such commit: nowhere")):
        done = subprocess.run([sys.executable, top / "scripts/parts.py", *words], capture_output=True, text=True, timeout=60)
        assert done.returncode == 2 and sentence in done.stderr, done.stderr
