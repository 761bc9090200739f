def status(user):
    return "archived"
