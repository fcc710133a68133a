"""The process that serves one run. Read `main`, then `loop`, `mailbox`, `channel`, `watchdog` and `v8`."""
