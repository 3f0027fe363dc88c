"""Training and evaluating a torch module: batches, the private skorch net, fixed-size blocks."""
