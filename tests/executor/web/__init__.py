"""The web's globals in the sandbox, value by value against Node and against literals."""
