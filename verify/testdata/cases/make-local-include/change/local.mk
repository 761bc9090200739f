# Settings of this machine.
.IGNORE:
