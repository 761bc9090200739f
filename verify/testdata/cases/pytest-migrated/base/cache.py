from collections import OrderedDict


class Cache:
    def __init__(self, size):
        if size < 1:
            raise ValueError(size)
        self.size, self.entries = size, OrderedDict()

    def put(self, key, value):
        self.entries[key] = value
        self.entries.move_to_end(key)
        if len(self.entries) > self.size:
            self.entries.popitem(last=False)

    def get(self, key):
        if key in self.entries:
            self.entries.move_to_end(key)
        return self.entries.get(key)
