"""Faces: the one run path under the names that other documents use. They decide nothing."""
