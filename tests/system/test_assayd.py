# SPDX-License-Identifier: Apache-2.0
"""assayd with a small real server: what it sends, in which order, and that nothing is lost."""
import json
import time

import pytest
from assayd_fixtures import NODE, assayd, assayd_path, config, spool, stub  # noqa: F401
from conftest import sample
from controller_stub import Answer


# --- what is sent --------------------------------------------------------------


def test_reports_leave_in_the_order_of_their_numbers(assayd, stub, spool, wait_until):
    for seq in (10, 9, 100, 2):
        spool(seq)
    assayd()
    wait_until(lambda: not spool.left())
    assert stub.came == [2, 9, 10, 100]


def test_a_second_one_on_the_same_state_says_who_is_first_and_ends(assayd, wait_until):
    """Otherwise each report would be sent twice, and each order executed twice."""
    first = assayd()
    assert wait_until(lambda: "version=" in first.log())
    second = assayd()
    assert wait_until(lambda: second.poll() is not None) and second.returncode == 1
    assert "another assayd is already running in " in second.log() and f"held by pid {first.pid} " in second.log()
    assert first.poll() is None


def test_a_new_report_leaves_at_once(assayd, stub, spool, wait_until):
    assayd()
    wait_until(lambda: stub.held)
    for seq in range(1, 4):
        spool(seq)
        wait_until(lambda: not spool.left())
    assert stub.came == [1, 2, 3]


def test_a_large_report_travels_packed_and_arrives_as_it_was(assayd, stub, spool, wait_until, build):
    spool(1, pad=100000)
    spool(2)
    assayd()
    wait_until(lambda: not spool.left())
    if "HAVE_ZLIB 1" in (build / "config.h").read_text():
        assert stub.packed == [True, False]
    assert len(stub.stored[NODE, "b1", 1]["env"]["pad"]) == 100000
    assert stub.headers[0]["User-Agent"].startswith("assayd/")


def test_two_thousand_reports_drain(assayd, stub, spool, wait_until):
    for seq in range(1, 2001):
        spool(seq)
    assayd()
    wait_until(lambda: not spool.left(), seconds=120)
    assert stub.came == list(range(1, 2001))


def test_many_leave_as_lines_of_one_call(assayd, stub, spool, wait_until):
    stub.takes_lines = True
    for seq in range(1, 151):
        spool(seq)
    assayd()
    wait_until(lambda: not spool.left())
    assert stub.came == list(range(1, 151)) and stub.lines == [64, 64, 22]


def test_large_reports_share_a_call_only_as_far_as_its_bytes_go(assayd, stub, spool, wait_until):
    stub.takes_lines = True
    for seq in range(1, 7):
        spool(seq, pad=400_000)
    spool(7, pad=1_500_000)
    spool(8)
    assayd()
    wait_until(lambda: not spool.left())
    assert stub.came == list(range(1, 9)) and stub.lines == [2, 2, 2]
    assert len(stub.stored[NODE, "b1", 7]["env"]["pad"]) == 1_500_000


def test_lines_that_an_answer_does_not_name_are_sent_again(assayd, stub, spool, wait_until):
    stub.takes_lines = True
    stub.script = [Answer(), Answer(422, {"title": "no", "detail": "no unit"}), Answer(503, {"title": "busy", "detail": "full"})]
    for seq in range(1, 6):
        spool(seq)
    daemon = assayd()
    wait_until(lambda: not spool.left())
    assert stub.came == [1, 2, 3, 3, 4, 5] and stub.lines == [5, 3]
    assert stub.seqs() == [1, 3, 4, 5] and (spool.path / "bad" / "2.json").exists()
    assert "no unit seq=2" in daemon.log() and "reports wait" not in daemon.log()


def test_many_wait_as_one_does(assayd, stub, spool, wait_until):
    stub.takes_lines, stub.store_first = True, False
    stub.script = [Answer(503, {"title": "busy", "detail": "store is full"}, {"Retry-After": "1"}),
                   Answer(raw=b"HTTP/1.1 202 Accepted\r\nContent-Length: 100\r\n\r\n{\"acc")]
    for seq in range(1, 4):
        spool(seq)
    began = time.monotonic()
    daemon = assayd()
    wait_until(lambda: not spool.left())
    assert time.monotonic() - began >= 1
    assert "reports wait: 503 not now: store is full" in daemon.log() and "reports wait: POST" in daemon.log()
    assert stub.came == [1, 1, 1, 2, 3] and stub.seqs() == [1, 2, 3]


def test_a_report_of_several_lines_leaves_alone(assayd, stub, spool, wait_until):
    stub.takes_lines = True
    for seq in range(1, 6):
        spool(seq)
    pretty = spool.path / "3.json"
    pretty.write_text(json.dumps(json.loads(pretty.read_text()), indent=1))
    assayd()
    wait_until(lambda: not spool.left())
    assert stub.came == [1, 2, 3, 4, 5] and stub.lines == [2, 2]


def test_a_topology_is_sent_when_it_is_wanted(assayd, stub, spool, wait_until, tmp_path):
    digest = "0123456789abcdef" * 4
    (tmp_path / "state" / "topology").mkdir()
    (tmp_path / "state" / "topology" / f"{digest}.json").write_text('{"v":1,"kind":"topology"}')
    spool(1, topology=digest)
    assayd()
    wait_until(lambda: not spool.left())
    assert not stub.topologies
    stub.wants_topologies = True
    spool(2, topology=digest)
    wait_until(lambda: stub.topologies)
    assert stub.topologies == {digest: b'{"v":1,"kind":"topology"}'}


def test_a_report_by_assay_run_arrives(assayd, stub, run, says, profiles, wait_until):
    assayd()
    wait_until(lambda: stub.held)
    out = run("assay", "run", "--profiles", profiles(quick=[{"name": "p", "exec": says("p", sample())}]), "--report",
              env={"ASSAY_NODE": NODE})
    assert out.returncode in (0, 1, 3), out.stderr
    wait_until(lambda: stub.stored)
    assert list(stub.stored.values())[0]["samples"][0]["check"] == "test.rate"


# --- what goes wrong -------------------------------------------------------------


def test_retry_after_is_waited_for_and_the_report_sent_again(assayd, stub, spool, wait_until):
    stub.store_first = False
    stub.script = [Answer(503, {"title": "busy", "detail": "store is full"}, {"Retry-After": "1"}), Answer(429, None, {"Retry-After": "1"})]
    spool(1)
    spool(2)
    began = time.monotonic()
    daemon = assayd()
    wait_until(lambda: not spool.left())
    assert time.monotonic() - began >= 2
    assert stub.came == [1, 1, 1, 2]
    assert "reports wait: 503 not now: store is full" in daemon.log()
    wait_until(lambda: "reports are being sent again" in daemon.log())


def test_an_answer_cut_short_means_send_again_and_the_duplicate_is_done(assayd, stub, spool, wait_until):
    stub.script = [Answer(raw=b"HTTP/1.1 202 Accepted\r\nContent-Length: 100\r\n\r\n{\"acc"), Answer(raw=b""),
                   Answer(raw=b"HTTP/1.1 202 Acc"), Answer(raw=b"HTTP/1.1 202 Accepted\r\nContent-Length: 3\r\n\r\nyes")]
    spool(1)
    daemon = assayd()
    wait_until(lambda: not spool.left())
    assert stub.came == [1] * 5 and stub.seqs() == [1]
    assert "closed during the answer" in daemon.log()


RUDE = {"body": b"HTTP/1.1 202 A\r\nContent-Length: 10000000\r\n\r\n" + b"x" * 200000,
        "header": b"HTTP/1.1 202 A\r\n" + b"X-Y: zzzz\r\n" * 30000 + b"\r\n",
        "noise": b"\x00\xff" * 1000}


@pytest.mark.parametrize("name", RUDE)
def test_a_huge_answer_or_nonsense_is_refused_and_the_report_kept(assayd, stub, spool, wait_until, name):
    stub.script = [Answer(raw=RUDE[name])] * 3
    spool(1)
    daemon = assayd()
    wait_until(lambda: not spool.left())
    assert stub.came == [1] * 4
    assert "reports wait: POST" in daemon.log()


@pytest.mark.parametrize("status", [400, 403, 413, 422])
def test_a_report_that_will_never_be_taken_is_set_aside(assayd, stub, spool, wait_until, status):
    stub.script = [Answer(status, {"title": "no", "detail": "samples[0].unit: missing"})]
    spool(1)
    spool(2)
    daemon = assayd()
    wait_until(lambda: not spool.left())
    assert stub.came == [1, 2] and (spool.path / "bad" / "1.json").exists()
    assert f"{status} " in daemon.log() and "samples[0].unit: missing seq=1" in daemon.log()


@pytest.mark.parametrize("status", [401, 404, 409, 500, 302])
def test_a_refusal_that_may_pass_keeps_the_report(assayd, stub, spool, wait_until, status):
    stub.store_first = False
    stub.script = [Answer(status, None, {"Location": "/elsewhere"})] * 3
    spool(1)
    daemon = assayd()
    wait_until(lambda: not spool.left())
    assert stub.came == [1] * 4 and not (spool.path / "bad").exists()
    assert daemon.log().count(f"reports wait: {status}") == 1


def test_a_status_without_its_words_acknowledges_nothing(assayd, stub, spool, wait_until):
    stub.store_first = False
    stub.script = [Answer(200, "welcome to the guest network"), Answer(202, {})]
    spool(1)
    assayd()
    wait_until(lambda: not spool.left())
    assert stub.came == [1, 1, 1]


def test_a_torn_file_does_not_stop_the_others(assayd, stub, spool, wait_until):
    (spool.path / "1.json").write_text('{"v":1,"kind":"rep')
    spool(2)
    daemon = assayd()
    wait_until(lambda: not spool.left())
    assert stub.came == [2] and (spool.path / "bad" / "1.json").exists()
    assert "seq=1" in daemon.log()


def test_a_server_that_went_and_came_back_gets_everything(assayd, stub, spool, wait_until):
    daemon = assayd()
    wait_until(lambda: stub.held)
    stub.stop()
    for seq in range(1, 21):
        spool(seq)
    wait_until(lambda: "reports wait: POST" in daemon.log() and "Connection refused" in daemon.log())
    assert len(spool.left()) == 20
    stub.start()
    wait_until(lambda: not spool.left())
    wait_until(lambda: stub.held)
    assert stub.seqs() == list(range(1, 21))
    assert daemon.log().count("reports wait") < 10


@pytest.mark.once
def test_kill_at_any_moment_loses_nothing(assayd, stub, spool, wait_until, full):
    """Killed each time a few reports have arrived, while the answer to the last one is in flight."""
    total = 2000 if full else 300
    for seq in range(1, total + 1):
        spool(seq)
    plain, victims, kills = stub.on_report, [], 0

    def deadly(request, report, packed):
        answer = plain(request, report, packed)
        if victims and len(stub.came) > victims[0][1] + 17:
            victims.pop()[0].kill()
        return answer

    stub.on_report = deadly
    while spool.left():
        daemon = assayd()
        victims.append((daemon, len(stub.came)))
        wait_until(lambda d=daemon: d.poll() is not None or not spool.left(), 30)
        victims.clear()
        daemon.kill()
        daemon.wait()
        kills += 1
    assert kills > 5
    assert stub.seqs() == list(range(1, total + 1))
