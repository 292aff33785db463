# SPDX-License-Identifier: Apache-2.0
"""Compares debian/ and packaging/assay.spec with what `make install` installs, without building packages."""
import fnmatch
import os
import re
import shutil
import subprocess

import pytest

pytestmark = pytest.mark.once

MACROS = {"_bindir": "usr/bin", "_sbindir": "usr/sbin", "_libexecdir": "usr/libexec", "_libdir": "usr/lib", "_datadir": "usr/share", "_mandir": "usr/share/man",
          "_docdir": "usr/share/doc", "_unitdir": "usr/lib/systemd/system", "_sysusersdir": "usr/lib/sysusers.d",
          "_sysconfdir": "etc", "_sharedstatedir": "var/lib", "name": "assay"}


@pytest.fixture
def files(installed, configured):
    """The installed files, with the prefix /usr."""
    if any(configured(f"without-{name}") for name in ("systemd", "sqlite", "microhttpd", "curl", "verbs", "cblas")):
        pytest.skip("this build leaves parts out that the packages have")
    found = [str(p.relative_to(installed)).replace("usr/local/", "usr/") for p in installed.rglob("*") if not p.is_dir()]
    assert len(found) > 50
    return sorted(found)


def debian_patterns(top):
    """(package, pattern) of debian/*.install, without the architecture in library paths."""
    lines = [(path.stem, line.split()[0].replace("usr/lib/*/", "usr/lib/"))
             for path in sorted((top / "debian").glob("*.install")) for line in path.read_text().splitlines()]
    return [(package, line.replace("lib/systemd/", "usr/lib/systemd/", 1) if line.startswith("lib/") else line) for package, line in lines]


def spec_patterns(top):
    """(package, pattern) of the %files sections."""
    package, found = None, []
    for line in (top / "packaging/assay.spec").read_text().splitlines():
        if line.startswith("%"):
            section = re.match(r"%(files|changelog)\b ?(-n )?(\w*)$", line)
            if section:
                package = section.group(3) or "assay" if section.group(1) == "files" else None
        if package and line.startswith("%{"):
            found.append((package, re.sub(r"%\{(\w+)\}", lambda m: MACROS[m.group(1)], line)))
    return found


def owners(patterns, path):
    return {package for package, pattern in patterns if path.startswith(pattern.rstrip("/") + "/") or
            pattern.count("/") == path.count("/") and fnmatch.fnmatchcase(path, pattern)}


def test_each_installed_file_is_in_one_debian_package(top, files):
    patterns = debian_patterns(top)
    assert [(path, owners(patterns, path)) for path in files if len(owners(patterns, path)) != 1] == []


def test_each_installed_file_is_in_one_rpm(top, files):
    patterns = spec_patterns(top)
    assert [(path, owners(patterns, path)) for path in files if len(owners(patterns, path)) != 1] == []


def test_packages_list_nothing_that_is_not_installed(top, files):
    for patterns in (debian_patterns(top), spec_patterns(top)):
        unused = [pattern for _, pattern in patterns if not any(owners([("it", pattern)], path) for path in files)]
        assert [p for p in unused if p != "var/lib/assay"] == []  # a directory


def test_debhelper_compresses_the_manual_and_no_page_that_others_name(top, files):
    """dh_compress matches -X against any part of the path."""
    kept = re.findall(r" -X(\S+)", re.search(r"^\tdh_compress (.*)", (top / "debian/rules").read_text(), re.M)[0])
    assert [path for path in files if path.startswith("usr/share/man/") and any(word in path for word in kept)] == []
    assert [path for path in files if path.startswith("usr/share/doc/") and not any(word in path for word in kept)] == []
def test_what_a_site_deploys_is_installed_as_it_lies_here(top, installed):
    """All of deploy/ except the image build and the chart; scripts are executable."""
    place, = (p for p in installed.rglob("share/assay/deploy") if p.is_dir())
    here = {str(p.relative_to(top / "deploy")): p for p in (top / "deploy").rglob("*") if p.is_file() and "__pycache__" not in p.parts}
    wanted = {name for name in here if name.split("/")[0] != "docker" and name not in ("helm/render", "local.mk")}
    assert {str(p.relative_to(place)) for p in place.rglob("*") if p.is_file()} == wanted and len(wanted) > 40
    for name in wanted:
        theirs = place / name
        assert theirs.read_bytes() == here[name].read_bytes() and os.access(theirs, os.X_OK) == os.access(here[name], os.X_OK), name


def test_versions_agree(top):
    version = re.search(r"AC_INIT\(\[assay\], \[(.+)\]\)", (top / "configure.ac").read_text()).group(1)
    assert (top / "debian/changelog").read_text().startswith(f"assay ({version}-")
    assert f"\nVersion:        {version}\n" in (top / "packaging/assay.spec").read_text()


def test_what_is_not_free_is_in_no_dependency(top):
    control = (top / "debian/control").read_text()
    fields = re.findall(r"^(Depends|Recommends|Build-Depends|Pre-Depends):((?:\n .+)+)", control, re.M)
    assert len(fields) > 5
    assert [name for _, names in fields for name in names.split() if re.search("cuda|cublas|nccl|nvidia", name)] == []
    suggested = re.findall(r"^Suggests:((?:\n .+)+)", control, re.M)
    assert {"libnccl2,"} == {name for names in suggested for name in names.split() if re.search("cuda|cublas|nccl|nvidia", name)}
    assert "NCCL (BSD 3-clause" in control


def test_examples_of_configuration_are_good(top, run, tmp_path):
    """Without the certificate, and with the paths of this tree."""
    (tmp_path / "token").write_text("t")
    (tmp_path / "token").chmod(0o600)
    examples = top / "docs/examples"
    for name in ("assayd.yaml", "controller.yaml", "tokens.yaml"):
        text = (examples / name).read_text().replace("/etc/assay/", f"{tmp_path}/").replace("0.0.0.0", "127.0.0.1")
        text = text.replace("https://assay-controller:9470", "http://127.0.0.1:9").replace("/var/lib/assay-controller", str(tmp_path))
        (tmp_path / name).write_text(re.sub(r"^(ca|tls-\w+):.*\n", "", text, flags=re.M))
    out = run("assay-controller", "--check", "--config", tmp_path / "controller.yaml")
    assert out.returncode == 0, out.stderr
    out = run("assayd", "--check", "--config", tmp_path / "assayd.yaml")
    assert out.returncode == 0, out.stderr


def test_an_rpm_tool_reads_the_spec(top):
    if not shutil.which("rpmspec"):
        pytest.skip("rpmspec is missing: apt-get install rpm")
    out = subprocess.run(["rpmspec", "-q", str(top / "packaging/assay.spec")], capture_output=True, text=True, timeout=60)
    assert out.returncode == 0, out.stderr
    names = sorted(re.findall(r"^(\S+)-0\.", out.stdout, re.M))
    assert names == sorted(re.findall(r"^Package: (\S+)", (top / "debian/control").read_text(), re.M))
