"""Fuzzing with a fixed seed: hostile bytes at every border, and what stands behind it still serves afterwards.

    test_protocol.py   the decoder and the connection's state machine, both ends, every state
    test_daemon.py     a real daemon and hostile clients (attacker.py)
    test_client.py     the client and a hostile daemon (hostile_daemon.py)
    test_workers.py    the daemon's end of a worker's control socket
    test_whole_runs.py client and daemon while hostile workers have the runs (hostile_zygote.py)
    test_found.py      what was found and mended, a test for each kind

A few thousand frames each are part of every run. `pytest -m slow tests/fuzz` sends a hundred thousand each, and
`TOOLTOOLEXEC_FUZZ_FRAMES=1000000 pytest -m slow tests/fuzz` as many as it says.

Everything is made of conversations, and a conversation of nothing but the seed and its number. A failure names seed,
conversation and frame; `TOOLTOOLEXEC_FUZZ_FIRST=N` begins with conversation N, so that it comes first.
`TOOLTOOLEXEC_FUZZ_SEED=S` takes another seed.
"""
