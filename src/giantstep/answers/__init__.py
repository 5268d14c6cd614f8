"""What predictions and simulations return: named arrays on labelled grids, their tables, and one beside the other."""
