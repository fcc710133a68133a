"""A run as one text for the model that wrote its program. `for_model.py` is the way in; it is loaded on first use."""
