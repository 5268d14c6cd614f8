"""Result 1: what the gradient step makes of the first layer, on average and in the rows' covariances."""
