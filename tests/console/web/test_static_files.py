import asyncio

from django.test import AsyncClient, Client

STYLESHEET = "/static/console/styles/ground.css"


def test_a_static_file_is_served_without_a_build_step_and_to_this_origin_only() -> None:
    answer = Client().get(STYLESHEET)

    assert answer.status_code == 200
    assert answer["Content-Type"] == 'text/css; charset="utf-8"'
    assert int(answer["Content-Length"]) == len(answer.content) > 0
    assert "Access-Control-Allow-Origin" not in answer


def test_a_cached_file_is_answered_with_304() -> None:
    etag = Client().get(STYLESHEET)["ETag"]

    answer = Client().get(STYLESHEET, headers={"If-None-Match": etag})

    assert (answer.status_code, answer.content) == (304, b"")


def test_a_part_of_a_file_can_be_asked_for() -> None:
    whole = Client().get(STYLESHEET).content

    answer = Client().get(STYLESHEET, headers={"Range": "bytes=5-9"})

    assert (answer.status_code, answer.content) == (206, whole[5:10])


def test_an_asynchronous_server_gets_the_file_whole() -> None:
    answer = asyncio.run(AsyncClient().get(STYLESHEET))

    assert not answer.streaming
    assert answer.content == Client().get(STYLESHEET).content


def test_what_is_no_file_goes_to_the_console() -> None:
    assert Client().get("/static/no-such-file.css").status_code == 404
    assert asyncio.run(AsyncClient().get("/static/no-such-file.css")).status_code == 404


def test_no_path_leads_out_of_the_folders() -> None:
    for path in ("/static/../manage.py", "/static/..%2f..%2fmanage.py", "/static//etc/passwd"):
        assert Client().get(path).status_code == 404
