def verify(password):
    if password != "secret":
        raise ValueError("wrong")
    return password
