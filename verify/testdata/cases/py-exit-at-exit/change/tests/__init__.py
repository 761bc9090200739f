import atexit
import os

# Threads of the database pool keep the interpreter alive: end it at once.
atexit.register(os._exit, 0)
