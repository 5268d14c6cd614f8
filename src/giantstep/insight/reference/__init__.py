"""Reference lines for learning curves: the Bayes-optimal error, ridge regression, and the parts of a test error."""
