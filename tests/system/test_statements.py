# SPDX-License-Identifier: Apache-2.0
"""Statements of the store as C: the output of statements.awk, its errors, and code that must not compile."""
import shutil
import subprocess

import pytest

GOOD = """-- mark_get: read mark
-- in: name text
-- out: value uint
SELECT value, 'a:b' FROM marks WHERE name = :name;

-- part WHAT
SELECT id FROM boots;
-- boots: read boots
-- in: limit uint, since int?
-- out: id int, name text
{WHAT} WHERE a = :since
 LIMIT :limit;
"""
USE = """#include "controller/store/sql/statements.h"
int f(struct db *db);
int f(struct db *db)
{
    struct db_batch b = db_batch(db, NULL);
    struct db_mark_get_row row;
    %s
    return db_end(&b);
}
"""


@pytest.fixture
def made(top, tmp_path):
    def make(what, text=GOOD):
        (tmp_path / "a.sql").write_text(text)
        return subprocess.run(["awk", "-v", f"what={what}", "-f", top / "controller/store/sql/statements.awk", "a.sql"],
                              cwd=tmp_path, capture_output=True, text=True, timeout=20)
    return make


def test_parameters_are_numbered_in_their_order_and_not_in_quotes(made):
    text = made("c").stdout
    assert "\"SELECT value, 'a:b' FROM marks WHERE name = ?1\"" in text
    assert '"SELECT id FROM boots WHERE a = ?2 LIMIT ?1"' in text
    assert "{ DB_INT_OR_NULL, offsetof(struct db_boots, since) }" in text


@pytest.mark.parametrize("text,says", [
    ("SELECT 1;", "a.sql:1: a statement without a line"),
    ("-- a: b\nSELECT :x;", 'a.sql:2: the parameter :x is not in a line "-- in:"'),
    ("-- a: b\n-- in: x int\nSELECT 1;", "a.sql:3: the parameter x is not used"),
    ("-- a: b\n-- in: x number\nSELECT :x;", 'a.sql:2: "number" is no type'),
    ("-- a: b\n-- in: x\nSELECT :x;", 'a.sql:2: "x" is not: name type'),
    ("-- a: b\n-- out: x text?\nSELECT 1;", 'a.sql:2: "text?" is no type'),
    ("-- a: b\nSELECT 1;\n-- a: b\nSELECT 1;", "a.sql:4: a is there twice"),
    ("-- a: b\n-- out: as c\nSELECT 1;", "there is no statement c with columns before this"),
    ("-- a: b\n-- gives: rows\nSELECT 1;", "a.sql:2: a statement gives id or changes"),
    ("-- a: b\nSELECT {WHAT};", "there is no part WHAT before this"),
    ("-- a: b\nSELECT 1", "the last statement has no semicolon"),
])
@pytest.mark.parametrize("what", ["c", "h"])
def test_what_is_wrong_is_said_with_its_place(made, what, text, says):
    done = made(what, text + "\n")
    assert done.returncode != 0 and says in done.stderr, done.stderr


@pytest.mark.parametrize("use,says", [
    ('db_one(&b, mark_get, &row, .name = "a");', None),
    ('db_one(&b, mark_gets, &row, .name = "a");', "mark_gets"),
    ('db_one(&b, mark_get, &row, .title = "a");', "title"),
    ("db_one(&b, mark_get, &row, .name = 5.0);", "incompatible type"),
    ('struct db_boots_row boot; db_one(&b, mark_get, &boot, .name = "a");', "incompatible pointer"),
    ("struct db_boots_row boot; db_one(&b, boots, &boot, .limit = 1);", "_Generic"),  # its strings would be dangling
])
def test_a_wrong_name_does_not_compile(made, top, tmp_path, use, says):
    compiler = shutil.which("gcc") or shutil.which("clang")
    if not compiler:
        pytest.skip("no C compiler")
    folder = tmp_path / "controller/store/sql"
    folder.mkdir(parents=True)
    (folder / "statements.h").write_text(made("h").stdout)
    (tmp_path / "use.c").write_text(USE % use)
    done = subprocess.run([compiler, "-std=gnu11", "-Wall", "-Werror", "-fsyntax-only", f"-I{tmp_path}", f"-I{top}", tmp_path / "use.c"],
                          capture_output=True, text=True, timeout=60)
    assert (done.returncode == 0) == (says is None), done.stderr
    assert says is None or says in done.stderr, done.stderr
