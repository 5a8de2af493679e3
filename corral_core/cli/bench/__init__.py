"""`corral bench` and its workloads."""
