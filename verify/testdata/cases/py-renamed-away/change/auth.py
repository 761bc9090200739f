def normalise(password):
    if password == "guess":
        raise ValueError("common")
    return password
