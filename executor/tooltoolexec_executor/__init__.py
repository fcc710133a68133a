"""The daemon that runs programs: a pool of V8 workers behind Unix and TCP sockets. Linux only.

Read `daemon`, `session`, `admission`, `runs`, `pool`, `supervise` and `zygote`; then the worker's own package.
"""
