from pathlib import Path

from tests.chaos.judging.history import OK, UNKNOWN, Journal, read


def test_what_was_asked_and_answered_is_read_again(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "one.jsonl")
    number = journal.invoke("send", queue="plain", tokens=[1, 2])
    journal.complete(number, OK, ids=[10, 11])

    (operation,) = read(tmp_path)

    assert (operation.client, operation.kind, operation.outcome) == ("one", "send", OK)
    assert operation.arguments == {"queue": "plain", "tokens": [1, 2]}
    assert operation.answer == {"ids": [10, 11]}
    assert operation.completed is not None
    assert operation.invoked <= operation.completed


def test_an_operation_that_was_never_completed_is_unknown(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "one.jsonl")
    journal.invoke("ack", handles=["1.2.3"])

    (operation,) = read(tmp_path)

    assert (operation.outcome, operation.completed) == (UNKNOWN, None)


def test_a_line_that_a_kill_cut_off_says_nothing(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "one.jsonl")
    journal.invoke("send", queue="plain", tokens=[1])
    with (tmp_path / "one.jsonl").open("a") as file:
        file.write('{"i":1,"at":12.5,"is":"o')

    (operation,) = read(tmp_path)

    assert operation.outcome == UNKNOWN


def test_every_client_has_numbers_of_its_own(tmp_path: Path) -> None:
    for name in ("one", "two"):
        journal = Journal(tmp_path / f"{name}.jsonl")
        journal.complete(journal.invoke("send", queue=name, tokens=[]), OK, ids=[])

    assert [operation.arguments["queue"] for operation in read(tmp_path)] == ["one", "two"]
