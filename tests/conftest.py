import os

# The suite runs in two worker processes; more BLAS threads than cores would only slow both. Our own
# threads stay at two, so that they are tested.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "2")
