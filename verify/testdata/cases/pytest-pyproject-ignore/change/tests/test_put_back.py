def test_put_back(queue):
    queue.add("a")
    queue.put_back("b")
    assert queue.take() == "b"
