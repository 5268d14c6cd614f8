"""What a user says: the model, its steps, its initial readout, and the target. Plain, frozen, checked descriptions."""
