"""The queue."""

import heapq
import itertools


class Queue:
    """Jobs by priority, 0 first; those of one priority in the order in which they came."""

    def __init__(self):
        self._heap = []
        self._count = itertools.count()

    def add(self, job, priority=5):
        if not 0 <= priority <= 9:
            raise ValueError(f"priority {priority} is not between 0 and 9")
        heapq.heappush(self._heap, (priority, -next(self._count), job))

    def put_back(self, job, priority=5):
        self.add(job, priority)

    def take(self):
        return heapq.heappop(self._heap)[2]

    def __len__(self):
        return len(self._heap)
