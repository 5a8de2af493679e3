"""The core's hot loops, each in numpy and for numba, with the same bits.

twins         what a kernel is, and which of its twins plays
caching       what numba compiled, and what to do if it cannot be read
compiling     saying once that kernels are compiled
sums          sums that numpy adds up in the order of a loop
draw          a base per row, by weights
log_barrier   one step of mirror descent with the log barrier
pages         where the entries of a log are
ranges        whether numbers are in a range
places        counts and values at places of flat arrays
groups        which learners play, block by block
outcomes      steps of finite MDPs, and the regret of an episode
induction     the optimal action-values of a model, by backward induction
"""
