"""The mathematics the methods share: moments, eigenpairs, principal axes."""
