"""Mutation tests: do the tests notice a change of the code?

``mutants`` changes a file in one place at a time, ``targets`` names the files and the tests of
each, ``forked`` runs these tests on a mutant, ``record`` holds survivors, reasons and scores.
"""
