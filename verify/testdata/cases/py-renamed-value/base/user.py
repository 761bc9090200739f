def status(user):
    return "active"
