import os

# The suite runs in two worker processes; more threads than cores would only slow both. (And a child
# forked after OpenMP has run with several threads cannot use it: tests of threads set their own
# number.)
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
