from tests.engine import Engine


def test_x(make_engine):
    engine = make_engine(max_backlog_messages=3)
    for i in range(3):
        engine.send(i)
    import pytest, psycopg
    with pytest.raises(psycopg.Error) as caught:
        engine.send(4)
    print(caught.value.diag.message_primary, caught.value.diag.message_detail, caught.value.diag.message_hint)
    print(engine.rows("select * from signalbox.refusal"))
    engine.connection.execute("begin")
    (row,) = engine.receive(1)
    engine.ack(row[1])
    engine.connection.execute("commit")
    from tests.races.sessions import until
    def again():
        try:
            return engine.send(5)
        except psycopg.Error as e:
            print(e.diag.message_detail)
    until(again, "x")
    e2 = make_engine(publish_rate_per_second=10)
    for i in range(10): e2.send(i)
    with pytest.raises(psycopg.Error) as caught:
        e2.send(4)
    print(caught.value.diag.message_primary, caught.value.diag.message_detail, caught.value.diag.message_hint)
    e3 = make_engine(max_backlog_bytes=100)
    for i in range(10): e3.send("12345678")
    with pytest.raises(psycopg.Error) as caught:
        e3.send(4)
    print(caught.value.diag.message_primary, caught.value.diag.message_detail, caught.value.diag.message_hint)
    import time
    e4 = make_engine(max_backlog_messages=1000000)
    t=time.perf_counter()
    for i in range(1000): e4.send("12345678")
    t1=time.perf_counter()-t
    e4 = make_engine()
    t=time.perf_counter()
    for i in range(1000): e4.send("12345678")
    t2=time.perf_counter()-t
    print(t1,t2)
    assert 0
